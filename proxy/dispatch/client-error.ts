// The client's answer if no account answered (Q3).
import type { Failure } from '../turn/errors/failure.ts';
import { Refusal } from '../turn/errors/refusal.ts';
import type { Confidential } from '../turn/errors/sanitise.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import type { RelayedAnswer } from '../turn/surface.ts';

/**
 * @param failures the failures of the turn's attempts in order, at least one
 * @param hasQuota whether an account that was not tried can take turns. The client then gets the last failure, and a refusal inside a 200
 * still says quota (Q3).
 */
export function clientError(failures: readonly Failure[], turn: LiveTurn, known: Confidential, hasQuota = false): Refusal | RelayedAnswer {
  const last = failures.at(-1) as Failure;
  const { status, cause, error } = last;
  // Called even if its result is not used, because it notes the class in the row (ER4). A refusal inside a 200 has no status of its own.
  const isInside = status === undefined || status < 400;
  const ruled = isInside ? undefined : turn.rules.refused({ status, code: error.code, param: error.param });
  if ((isInside || !hasQuota) && failures.every((failure) => failure.cause === 'quota')) return usageLimit(failures, turn.now());
  if (ruled) return ruled;
  switch (cause) {
    case 'timeout':
      return new Refusal('upstream_timeout');
    case 'connect':
      return new Refusal(last.timedOut ? 'upstream_timeout' : 'upstream_error');
    case 'network':
    case 'malformed':
    case 'credential':
    case 'challenge_page':
      return new Refusal('upstream_error');
    default: {
      const answer = turn.surface.refusalOf(turn.named(last), turn.answerHeaderOptions, known);
      if (!(answer instanceof Refusal)) turn.rules.head(answer);
      return answer;
    }
  }
}

/** @returns a Refusal for a failure inside a reply, if the client did not ask for a stream */
export function collectedError(failure: Failure, turn: LiveTurn, known: Confidential): Refusal {
  const answer = clientError([failure], turn, known);
  return answer instanceof Refusal ? answer : new Refusal('upstream_error');
}

function usageLimit(failures: readonly Failure[], now: number): Refusal {
  const resets = failures.flatMap(({ resetsAt }) => (resetsAt === undefined ? [] : [resetsAt]));
  const resetsAt = resets.length > 0 ? Math.min(...resets) : undefined;
  return new Refusal('usage_limit_reached', resetsAt === undefined ? {} : { resetsAt, retryAfterMs: resetsAt * 1000 - now });
}
