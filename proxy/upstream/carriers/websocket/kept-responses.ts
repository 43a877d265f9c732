// The responses that came over one websocket of an account. A turn can continue them on that websocket only.
import type { ModeDecision } from '../../../turn/turn.ts';

export type EffectiveMode = ModeDecision['effective'] | undefined;

/** The most responses that are kept. Clients continue the last one, or one shortly before it. */
const MAX_RESPONSES = 128;
/** The most characters of instructions that are kept with responses. Older responses are forgotten first. */
const MAX_LIFTED = 4_194_304;

export interface KeptResponse {
  readonly id: string;
  /** The effective mode in which it was made. */
  readonly mode: EffectiveMode;
  /** The texts of earlier system messages that were sent as instructions. The account does not keep instructions. */
  readonly lifted: string | undefined;
}

export class KeptResponses {
  /** The oldest first. */
  readonly #responses: KeptResponse[] = [];

  add(response: KeptResponse): void {
    this.#responses.push(response);
    let lifted = 0;
    for (const one of this.#responses) lifted += one.lifted?.length ?? 0;
    while (this.#responses.length > MAX_RESPONSES || lifted > MAX_LIFTED) lifted -= this.#responses.shift()?.lifted?.length ?? 0;
  }

  /** The latest response with this id. */
  get(id: string): KeptResponse | undefined {
    return this.#responses.findLast((one) => one.id === id);
  }
}
