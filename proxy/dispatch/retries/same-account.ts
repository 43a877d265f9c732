// Repeats a failed request at the same account: once in another way (over another connection, as a trigger turn, or without a member that
// the account refused) and once with a renewed credential (Q5, Q9, Q27, Q28).
import type { AttemptResult } from '../../accounts/health/attempt-result.ts';
import type { AccountLease } from '../../accounts/selection/lease.ts';
import type { Failure } from '../../turn/errors/failure.ts';
import type { ProviderApi } from '../../turn/provider/provider-api.ts';
import { resultOf } from '../attempt.ts';
import type { DispatchServices } from '../dispatch-services.ts';
import { attemptAt } from '../leased-attempt.ts';
import type { Attempted } from '../reply/reply-context.ts';
import type { TurnProgress } from './turn-progress.ts';

/** The last attempt at an account, and its effect on the account's health. */
export interface Judged {
  readonly attempted: Attempted;
  readonly result: AttemptResult;
}

/** @param failed an attempt with a failure, before which the client may have seen a part of the reply */
export async function repeatAt(
  lease: AccountLease,
  failed: Attempted,
  progress: TurnProgress,
  services: DispatchServices,
): Promise<Judged> {
  const { account, provider } = lease;
  const { socket } = progress;
  const { credentials, compactPaths } = services;
  const resend = (): Promise<Attempted> => attemptAt(lease, 'resend', progress, services);
  const hasNoPath = account.compact === 'auto' && missesCompactPath(failed, provider);
  if (hasNoPath) compactPaths.missing(account);
  const attempted = hasNoPath || failed.isAdjusted || socket?.sendsAgain(failed, account) ? await resend() : failed;
  const refused = refusedCredential(attempted);
  if (!refused) return { attempted, result: resultOf(attempted.verdict) };
  const renewal = await credentials.refused(account, attempted.authorization);
  const isShown = attempted.verdict.kind !== 'failed';
  if (renewal === 'failed' || renewal === 'challenged') {
    // The token endpoint did not answer, so it is unknown whether the account has to log in.
    const failure: Failure = { ...refused, cause: renewal === 'failed' ? 'connect' : 'challenge_page' };
    return { attempted: isShown ? attempted : { ...attempted, verdict: { kind: 'failed', failure } }, result: failure };
  }
  if (renewal !== 'renewed') return { attempted, result: refused };
  // The credential was at fault, and has been replaced.
  if (isShown || progress.isSpent) return { attempted, result: 'neutral' };
  const again = await resend();
  // After a second refusal the account has to log in, unless its operator has just done so.
  const imported = again.verdict.failure?.status === 401 && (await credentials.reimported(account));
  return { attempted: again, result: imported ? 'neutral' : resultOf(again.verdict) };
}

function missesCompactPath({ verdict, over, path }: Attempted, { compaction }: ProviderApi): boolean {
  const { failure } = verdict;
  return failure !== undefined && over === 'http' && compaction.isPathMissing(failure, path);
}

/** The failure of an attempt whose credential was refused and may be renewed. */
function refusedCredential({ verdict, authorization }: Attempted): Failure | undefined {
  const { failure } = verdict;
  return failure?.cause === 'credential' && failure.status === 401 && authorization !== undefined ? failure : undefined;
}
