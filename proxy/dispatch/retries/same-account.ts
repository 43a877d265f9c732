// Repeats a failed request at the same account: once in another way (over another connection, as a trigger turn, or without a member that
// the account refused) and once with a renewed credential (Q5, Q9, Q27, Q28).
import type { CompactPaths } from '../../accounts/compact-paths.ts';
import type { AttemptResult } from '../../accounts/health/account-health.ts';
import type { Failure } from '../../turn/errors/failure.ts';
import type { ProviderApi } from '../../turn/provider/provider-api.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import type { AccountCredentials } from '../../upstream/account-credentials.ts';
import type { Attempted } from '../attempt.ts';
import { failureOf, resultOf } from '../reply/reply-context.ts';
import type { TurnSocket } from '../turn-socket.ts';

/** The last attempt at an account, and its effect on the account's health. */
export interface Judged {
  readonly attempted: Attempted;
  readonly result: AttemptResult;
}

export interface SameAccount {
  readonly account: AccountConfig;
  readonly credentials: AccountCredentials;
  /** Undefined for a turn that goes over HTTP. */
  readonly socket: TurnSocket | undefined;
  readonly provider: ProviderApi;
  readonly compactPaths: CompactPaths;
  /** Whether the request has a body that can be sent only once, and has been sent. */
  readonly isSpent: () => boolean;
  /** Sends the request again. */
  readonly resend: () => Promise<Attempted>;
}

/** @param failed an attempt with a failure, before which the client may have seen a part of the reply */
export async function repeatAt(
  { account, provider, credentials, socket, compactPaths, isSpent, resend }: SameAccount,
  failed: Attempted,
): Promise<Judged> {
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
  if (isShown || isSpent()) return { attempted, result: 'neutral' };
  const again = await resend();
  // After a second refusal the account has to log in, unless its operator has just done so.
  const imported = failureOf(again.verdict)?.status === 401 && (await credentials.reimported(account));
  return { attempted: again, result: imported ? 'neutral' : resultOf(again.verdict) };
}

function missesCompactPath({ verdict, over, path }: Attempted, { compaction }: ProviderApi): boolean {
  const failure = failureOf(verdict);
  return failure !== undefined && over === 'http' && compaction.isPathMissing(failure, path);
}

/** The failure of an attempt whose credential was refused and may be renewed. */
function refusedCredential({ verdict, authorization }: Attempted): Failure | undefined {
  const failure = failureOf(verdict);
  return failure?.cause === 'credential' && failure.status === 401 && authorization !== undefined ? failure : undefined;
}
