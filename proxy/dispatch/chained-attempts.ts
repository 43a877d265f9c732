// The attempts of a turn for one model after another, in one slot (AA75).
import type { Slot } from '../admission/admission.ts';
import type { DispatchServices } from './dispatch-services.ts';
import type { Dispatched, DispatchRequest, FallbackModels } from './request/dispatch-request.ts';
import { TurnAttempts } from './turn-attempts.ts';

/** The client gets the answer of the last model that was sent to an account, otherwise that of the requested model. */
export async function chainedAttempts(
  services: DispatchServices,
  request: DispatchRequest,
  slot: Slot,
  chain: FallbackModels,
): Promise<Dispatched> {
  let attempts = new TurnAttempts(services, request, slot);
  let answer = await attempts.run();
  let restore = chain.checkpoint();
  while (attempts.goesOn) {
    const next = await chain.next();
    if (!next) {
      slot.release();
      break;
    }
    const sent = attempts.progress.rows.length;
    if (sent > 0) services.budgets.of(request.turn.pool.id).retry(request.turn.now());
    attempts = new TurnAttempts(services, { ...request, ...next }, slot, attempts);
    const dispatched = await attempts.run();
    if (attempts.goesOn && attempts.progress.rows.length === sent) continue;
    answer = dispatched;
    restore = chain.checkpoint();
  }
  restore();
  return answer;
}
