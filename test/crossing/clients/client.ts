// What every client of the crossing can do, whatever its API and its transport: ask, read what came, and go on with the results of its tools.
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import type { TestGateway } from '../../support/gateway.ts';

/** A function that a client declares. */
export interface AskedTool {
  readonly name: string;
  readonly parameters: JsonObject;
}

export interface Asked {
  readonly text: string;
  readonly model?: string;
  readonly tools?: readonly AskedTool[];
  /** `required` or the name of a tool. */
  readonly choice?: string;
  /** A data URL beside the text. */
  readonly image?: string;
  /** The schema of the answer. */
  readonly schema?: JsonObject;
  readonly effort?: string;
  readonly most?: number;
}

export interface Called {
  readonly id: string;
  readonly name: string;
  readonly input: string;
}

export interface Came {
  readonly status: number;
  readonly text: string;
  readonly calls: readonly Called[];
  readonly end: 'whole' | 'cut' | 'failed';
  /** The code of the error, with which the answer was refused or ended. */
  readonly error: string | undefined;
  readonly output: number | undefined;
  /** What a client of this API keeps of the exchange, in its own form: the whole conversation so far. */
  readonly history: readonly Json[];
  readonly raw: string;
}

export interface Client {
  readonly name: string;
  /** Its surface, as the request log names it. */
  readonly surface: 'native' | 'public' | 'chat' | 'messages';
  readonly transport: 'json' | 'sse' | 'websocket';
  /** Whether its API has structured output. */
  readonly hasSchemas: boolean;
  first(gate: TestGateway, key: string, asked: Asked): Promise<Came>;
  /** The same conversation with the results of its calls, or with a further message. */
  next(gate: TestGateway, key: string, asked: Asked, before: Came, results: readonly string[]): Promise<Came>;
}
