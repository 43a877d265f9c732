// The fallbacks of a model. If no account can serve it, the turn runs again as if its client had named the next id (AA74 to AA77).
import type { ChainedRequest, FallbackModels } from '../dispatch/request/dispatch-request.ts';
import type { Accounting } from '../keys/accounting.ts';
import type { Reservation } from '../keys/reservation.ts';
import { Refusal } from '../turn/errors/refusal.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import type { Body, Work } from '../turn/turn.ts';

export interface ModelChainOptions {
  readonly turn: LiveTurn;
  readonly accounting: Pick<Accounting, 'reserve' | 'unlimited'>;
  /** The client's body before rules edited it. */
  readonly body: Body;
  /** Its reservation is replaced when the model changes. */
  readonly unsettled: { reservation: Reservation | undefined };
}

export class ModelChain implements FallbackModels {
  readonly #options: ModelChainOptions;
  readonly #asked: string;
  readonly #left: string[];

  constructor(options: ModelChainOptions, fallbacks: readonly string[]) {
    this.#options = options;
    this.#asked = options.turn.model?.id ?? '';
    this.#left = [...fallbacks];
  }

  get hasNext(): boolean {
    return this.#left.length > 0;
  }

  checkpoint(): () => void {
    return this.#options.turn.checkpoint();
  }

  /**
   * The request for the next id. An id is skipped if it refuses the turn: the key may not use it, it is suppressed, or it has other efforts
   * (AA76).
   */
  async next(): Promise<ChainedRequest | undefined> {
    for (let id = this.#left.shift(); id !== undefined; id = this.#left.shift()) {
      const restore = this.checkpoint();
      try {
        return await this.#runAs(id);
      } catch (thrown) {
        restore();
        if (!(thrown instanceof Refusal)) throw thrown;
      }
    }
    return undefined;
  }

  async #runAs(id: string): Promise<ChainedRequest> {
    const { turn, accounting, body, unsettled } = this.#options;
    turn.restart();
    const work: Work = { body: { ...body, model: id } };
    await turn.rules.request(work);
    turn.requestedModel = this.#asked;
    const request = turn.request ?? { ...body, model: id };
    const former = unsettled.reservation;
    former?.settle(undefined);
    const reserved = await accounting.reserve(turn, request);
    if (reserved instanceof Refusal) {
      // The usage of the attempts that were made is still counted.
      if (former) unsettled.reservation = accounting.unlimited(turn, request);
      throw reserved;
    }
    unsettled.reservation = reserved;
    await turn.rules.edit(work);
    return { payload: { kind: 'json', work }, expected: reserved };
  }
}
