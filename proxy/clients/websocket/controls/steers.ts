// The steers of one response that its account has neither used nor returned (RB31).
import { isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import type { Body } from '../../../turn/turn.ts';
import { type ControlError, steerFailed } from './control-frame.ts';

export interface Steer {
  /** The client's frame. */
  readonly frame: Body;
  /** The number of bytes of the frame. */
  readonly bytes: number;
  /** Called once, when the frame is no longer needed. */
  readonly release: () => void;
}

interface OpenSteer extends Steer {
  /** The account's id of the steer; undefined until the account has accepted it. */
  id?: string;
}

export const MOST_STEERS = 8;

export class Steers {
  #open: OpenSteer[] = [];

  get count(): number {
    return this.#open.length;
  }

  add(steer: Steer): void {
    this.#open.push({ ...steer });
  }

  /** Reads an answer of the account. @returns whether it answers one of these */
  read({ type, steer }: JsonObject): boolean {
    const id = isObject(steer) && typeof steer.id === 'string' ? steer.id : undefined;
    const known = this.#open.findIndex((one) => one.id === id);
    const at = known === -1 ? this.#open.findIndex((one) => one.id === undefined) : known;
    const found = this.#open[at];
    if (!found) return false;
    if (type === 'response.steer.accepted' && id !== undefined) found.id = id;
    // If it is `pending`, the account keeps the input for the next turn that continues the response.
    else this.#open.splice(at, 1)[0]?.release();
    return true;
  }

  /** Returns all frames in order and removes them, because a further response has used them. */
  take(): readonly Body[] {
    const steers = this.#open;
    this.#open = [];
    for (const { release } of steers) release();
    return steers.map(({ frame }) => frame);
  }

  /** The answers that return all inputs to the client, because the account no longer answers. */
  fail(): readonly JsonObject[] {
    const steers = this.#open;
    this.#open = [];
    for (const { release } of steers) release();
    return steers.map(({ frame, id }) => steerFailed(frame, id === undefined ? NOT_ACTIVE : NOT_CONTINUED, id));
  }
}

const NOT_ACTIVE: ControlError = { code: 'response_not_active' };
const NOT_CONTINUED: ControlError = { code: 'successor_creation_failed' };

/** The input of several steers as one list. Accounts do not take a text instead. */
export const inputOf = (frames: readonly Body[]): readonly Json[] =>
  frames.flatMap(({ input }): readonly Json[] =>
    Array.isArray(input) ? input : [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input ?? '' }] }],
  );
