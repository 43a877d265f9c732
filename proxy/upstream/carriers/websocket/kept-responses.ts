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
  /** By id, the oldest first. */
  readonly #responses = new Map<string, KeptResponse>();
  /** The characters of instructions that are kept with them. */
  #lifted = 0;

  add(response: KeptResponse): void {
    this.#forget(response.id);
    this.#responses.set(response.id, response);
    this.#lifted += liftedIn(response);
    for (const oldest of this.#responses.keys()) {
      if (this.#responses.size <= MAX_RESPONSES && this.#lifted <= MAX_LIFTED) break;
      this.#forget(oldest);
    }
  }

  /** The latest response with this id. */
  get(id: string): KeptResponse | undefined {
    return this.#responses.get(id);
  }

  #forget(id: string): void {
    this.#lifted -= liftedIn(this.#responses.get(id));
    this.#responses.delete(id);
  }
}

const liftedIn = (response: KeptResponse | undefined): number => response?.lifted?.length ?? 0;
