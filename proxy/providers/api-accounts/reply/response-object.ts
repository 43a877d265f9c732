// The response object in the events of a reply that the gateway makes. It repeats settings of the turn (AA49).
import { isAbsent, type Json, type JsonObject } from '../../../turn/json/json.ts';
import type { LiveTurn } from '../../../turn/live-turn.ts';
import type { Body } from '../../../turn/turn.ts';
import { newId } from './new-id.ts';

/** The members of the turn that the response repeats. */
const REPEATED = [
  'instructions',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'text',
  'reasoning',
  'max_output_tokens',
  'metadata',
] as const;

export interface ResponseState {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  /** The output items as JSON. */
  readonly output: readonly string[];
  readonly error?: JsonObject;
  readonly incompleteReason?: string;
  readonly usage?: JsonObject;
}

export class ResponseObject {
  readonly id = newId('resp_');
  readonly #head: string;
  /** The settings as JSON. They are written once, because they may be long and three events have them. */
  readonly #settings: string;

  /** @param body as the rules left it */
  constructor(body: Body, turn: Pick<LiveTurn, 'wallTime' | 'model'>) {
    const created = Math.floor(turn.wallTime() / 1000);
    const model = turn.model?.id ?? body.model ?? null;
    this.#head = `"id":"${this.id}","object":"response","created_at":${created},"model":${JSON.stringify(model)}`;
    this.#settings = REPEATED.flatMap((name) => {
      const value: Json | undefined = body[name];
      return isAbsent(value) ? [] : [`,"${name}":${JSON.stringify(value)}`];
    }).join('');
  }

  /** The bytes that the object holds until the reply is over. */
  get size(): number {
    return this.#settings.length;
  }

  /** The member `response` of an event, as JSON. */
  json({ status, output, error, incompleteReason, usage }: ResponseState): string {
    const details = incompleteReason === undefined ? 'null' : `{"reason":${JSON.stringify(incompleteReason)}}`;
    const state = `"status":"${status}","error":${JSON.stringify(error ?? null)},"incomplete_details":${details}`;
    return `"response":{${this.#head},${state}${this.#settings},"output":[${output.join(',')}],"usage":${JSON.stringify(usage ?? null)}}`;
  }
}
