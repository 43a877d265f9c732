// Dispatch: takes an admission slot, then runs one turn's attempts at accounts within the retry budget of its Pool (Q4, Q6).
import type { Admission, Slot } from '../admission/admission.ts';
import { clientGone, NO_ATTEMPTS } from '../turn/turn-result.ts';
import { CiphertextRecovery } from './ciphertext-recovery.ts';
import type { Dispatched, DispatchRequest } from './dispatch-request.ts';
import { NextSteps } from './next-step.ts';
import type { RetryBudgets } from './retry-budget.ts';
import { TurnAttempts, type TurnServices } from './turn-attempts.ts';

export interface DispatchOptions extends TurnServices {
  readonly admission: Admission;
  readonly budgets: RetryBudgets;
}

export class Dispatch {
  readonly #options: DispatchOptions;
  readonly #steps: NextSteps;

  constructor(options: DispatchOptions) {
    this.#options = options;
    const { continuity, selection, counters } = options;
    this.#steps = new NextSteps({ selection, counters, recovery: new CiphertextRecovery(continuity, selection) });
  }

  /**
   * Resolves when the turn's reply is complete, or nothing can give one.
   * @throws Refusal at once, not from the promise, where the route's class has no room
   */
  run(request: DispatchRequest): Promise<Dispatched> {
    const { turn, client } = request;
    const onGone = (left: () => void): (() => void) => client.onGone(left);
    const entering = this.#options.admission.acquire({ class: turn.route.class, key: turn.key, onGone });
    if (!(entering instanceof Promise)) return this.#attempts(request, entering);
    return entering.then((slot) => (slot ? this.#attempts(request, slot) : this.#gone()));
  }

  #attempts(request: DispatchRequest, slot: Slot): Promise<Dispatched> {
    const budget = this.#options.budgets.of(request.turn.pool.id);
    return new TurnAttempts(this.#options, request, { slot, budget, steps: this.#steps }).run();
  }

  #gone(): Dispatched {
    this.#options.counters.add('client_gone');
    return { attempts: NO_ATTEMPTS, end: { kind: 'ended', ending: clientGone(false) } };
  }
}
