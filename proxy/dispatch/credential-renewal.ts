// An attempt with a refused credential: the credential is renewed once and the request sent again (Q5, Q9).
import type { AttemptResult } from '../accounts/health/account-health.ts';
import type { Failure } from '../turn/failure.ts';
import type { AccountConfig } from '../turn/settings.ts';
import type { AccountCredentials } from '../upstream/account-credentials.ts';
import type { Attempted } from './attempt.ts';
import { failureOf } from './reply-context.ts';

/** An attempt, and its result for the account's health. */
interface Judged {
  readonly attempted: Attempted;
  readonly result: AttemptResult;
}

/** Whether the account refused a credential that may be renewed. */
export function isCredentialRefused({ verdict, authorization }: Attempted): boolean {
  const failure = failureOf(verdict);
  return failure?.cause === 'credential' && failure.status === 401 && authorization !== undefined;
}

/** What an attempt says about its account's health. A client that left and a refusal of the gateway's own say nothing. */
export function resultOf({ verdict }: Attempted): AttemptResult {
  return failureOf(verdict) ?? (verdict.kind === 'done' ? 'completed' : 'neutral');
}

/** @param resend sends the request again; undefined for one that can be sent once, and where the client has seen a part of the reply */
export async function renewCredential(
  attempted: Attempted,
  account: AccountConfig,
  credentials: AccountCredentials,
  resend: (() => Promise<Attempted>) | undefined,
): Promise<Judged> {
  const refused = failureOf(attempted.verdict);
  const renewal = await credentials.refused(account, attempted.authorization);
  if (renewal === 'failed' && refused) {
    // The token endpoint did not answer, so it is unknown whether the account has to log in.
    const failure: Failure = { ...refused, cause: 'connect' };
    const isShown = attempted.verdict.kind !== 'failed';
    return { attempted: isShown ? attempted : { ...attempted, verdict: { kind: 'failed', failure } }, result: failure };
  }
  if (renewal !== 'renewed') return { attempted, result: resultOf(attempted) };
  // The credential was at fault, and has been replaced.
  if (!resend) return { attempted, result: 'neutral' };
  const again = await resend();
  // Refused again: the account has to log in, unless its operator has done so meanwhile.
  const imported = failureOf(again.verdict)?.status === 401 && (await credentials.reimported(account));
  return { attempted: again, result: imported ? 'neutral' : resultOf(again) };
}
