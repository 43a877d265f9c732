// Dispatch: takes an admission slot, then runs one turn's attempts at accounts within the retry budget of its Pool (Q4, Q6).
import { LackingAccounts } from '../accounts/selection/demand.ts';
import type { Admission, Slot } from '../admission/admission.ts';
import type { ProviderOf } from '../turn/provider/provider-api.ts';
import { clientGone, NO_ATTEMPTS } from '../turn/reply/turn-result.ts';
import type { Dispatched, DispatchRequest, FallbackModels } from './request/dispatch-request.ts';
import { CiphertextRecovery } from './retries/ciphertext-recovery.ts';
import { NextSteps } from './retries/next-step.ts';
import { TurnAttempts, type TurnServices } from './turn-attempts.ts';

export interface DispatchServices
  extends Pick<TurnServices, 'continuity' | 'counters' | 'credentials' | 'histories' | 'models' | 'tiers' | 'websockets'> {
  readonly capacity: Pick<TurnServices, 'compactPaths' | 'selection'> & { readonly admission: Admission };
  readonly retryBudgets: TurnServices['budgets'];
  readonly providerOf: ProviderOf;
}

export type DispatchOptions = Pick<TurnServices, 'followUps' | 'observers'>;

export class Dispatch {
  readonly #admission: Admission;
  readonly #services: TurnServices;

  constructor(services: DispatchServices, options: DispatchOptions) {
    const {
      capacity,
      continuity,
      counters,
      credentials,
      histories,
      models,
      providerOf,
      retryBudgets: budgets,
      tiers,
      websockets,
    } = services;
    const { admission, compactPaths, selection } = capacity;
    const steps = new NextSteps({ selection, counters, providerOf, recovery: new CiphertextRecovery(continuity, selection) });
    this.#admission = admission;
    const own = { budgets, compactPaths, continuity, counters, credentials, histories, models, selection, tiers, websockets };
    this.#services = {
      ...options,
      ...own,
      lacking: new LackingAccounts(providerOf, (account, id) => models.accountModel(account, id)),
      steps,
    };
  }

  /**
   * Resolves when the turn's reply is complete, or no account can give one.
   * @throws Refusal synchronously, if the route's class has no room
   */
  run(request: DispatchRequest): Promise<Dispatched> {
    const { turn, client } = request;
    const onGone = (left: () => void): (() => void) => client.onGone(left);
    const entering = this.#admission.acquire({ class: turn.route.class, key: turn.key, onGone });
    if (!(entering instanceof Promise)) return this.#attempts(request, entering);
    return entering.then((slot) => (slot ? this.#attempts(request, slot) : this.#gone()));
  }

  #attempts(request: DispatchRequest, slot: Slot): Promise<Dispatched> {
    const attempts = new TurnAttempts(this.#services, request, slot);
    return request.chain ? this.#chained(request, slot, request.chain, attempts) : attempts.run();
  }

  /**
   * Tries one model after another, in one slot. The client gets the answer of the last model that was sent to an account, otherwise that of
   * the requested model (AA75).
   */
  async #chained(request: DispatchRequest, slot: Slot, chain: FallbackModels, asked: TurnAttempts): Promise<Dispatched> {
    let attempts = asked;
    let told = await attempts.run();
    let restore = chain.checkpoint();
    while (attempts.goesOn) {
      const next = await chain.next();
      if (!next) {
        slot.release();
        break;
      }
      const sent = attempts.progress.rows.length;
      if (sent > 0) this.#services.budgets.of(request.turn.pool.id).retry(request.turn.now());
      attempts = new TurnAttempts(this.#services, { ...request, ...next }, slot, attempts);
      const dispatched = await attempts.run();
      if (attempts.goesOn && attempts.progress.rows.length === sent) continue;
      told = dispatched;
      restore = chain.checkpoint();
    }
    restore();
    return told;
  }

  #gone(): Dispatched {
    this.#services.counters.add('client_gone');
    return { attempts: NO_ATTEMPTS, end: { kind: 'ended', ending: clientGone(false) } };
  }
}
