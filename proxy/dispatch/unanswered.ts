// The answer to a client if no account has answered its turn: the last failure, or a refusal that states how to continue (Q3, Q10).
import { noteFailure } from '../turn/errors/error-class.ts';
import type { Failure } from '../turn/errors/failure.ts';
import { Refusal } from '../turn/errors/refusal.ts';
import { clientError } from './client-error.ts';
import type { DispatchServices } from './dispatch-services.ts';
import type { DispatchEnd } from './request/dispatch-request.ts';
import { isQuotaOfAll } from './retries/next-step.ts';
import type { TurnProgress } from './retries/turn-progress.ts';
import { anchorNotFound, prewarmImpossible } from './turn-socket.ts';

/** The answer after the last attempt. */
export function unanswered(progress: TurnProgress, { steps, selection }: DispatchServices): DispatchEnd {
  const { turn, demand, failures, socket } = progress;
  const last = failures.at(-1) as Failure;
  noteFailure(turn, last);
  // The first turn that finds out that its account has to log in gets the same answer as later ones (F8.2).
  const restart = last.cause === 'credential' ? selection.candidates.restart(demand) : undefined;
  const own = steps.endsConversation(progress, last) ? anchorNotFound() : socket?.refusal(last);
  if (own && !restart) return { kind: 'refused', refusal: own };
  // Stated with the soonest quota reset of all accounts, not with that of the last one.
  const isOfAll = isQuotaOfAll(progress, last);
  const exhausted = isOfAll ? selection.candidates.refusal(demand) : undefined;
  if (exhausted?.code === 'usage_limit_reached') return { kind: 'refused', refusal: exhausted };
  const answer = clientError(failures, turn, progress, isOfAll && !exhausted);
  if (restart) return { kind: 'refused', refusal: restart };
  return answer instanceof Refusal ? { kind: 'refused', refusal: answer } : { kind: 'relayed', answer };
}

/** The refusal if no account could be chosen for the first attempt. @param refusal the refusal of selection */
export function unchosen(progress: TurnProgress, refusal: Refusal, { steps }: DispatchServices): Refusal {
  if (steps.refusesConversation(progress, refusal)) return anchorNotFound();
  return progress.hasSkipped && refusal.code === 'no_eligible_account' ? prewarmImpossible() : refusal;
}
