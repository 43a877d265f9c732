// The interface of every client of the crossing, whatever its API and transport: send a turn, read the result, and continue with results of
// tools.
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
  /** The tool choice: `required` or the name of a tool. */
  readonly choice?: string;
  /** A data URL of an image that is sent with the text. */
  readonly image?: string;
  /** The schema that the answer must have. */
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
  /** The code of the error that refused or ended the answer. */
  readonly error: string | undefined;
  readonly output: number | undefined;
  /** The conversation so far in the form in which a client of this API keeps it. */
  readonly history: readonly Json[];
  readonly raw: string;
}

export interface Client {
  readonly name: string;
  /** The surface under its name in the request log. */
  readonly surface: 'native' | 'public' | 'chat' | 'messages';
  readonly transport: 'json' | 'sse' | 'websocket';
  /** Whether its API has structured output. */
  readonly hasSchemas: boolean;
  first(gate: TestGateway, key: string, asked: Asked): Promise<Came>;
  /** Continues the conversation with the results of its calls, or with a further message. */
  next(gate: TestGateway, key: string, asked: Asked, before: Came, results: readonly string[]): Promise<Came>;
}
