// Why an account refused a read of the gateway's own, as one word for operators (RB1, RB3).
import type { Headers } from '../turn.ts';
import { isChallengePage } from './challenge-page.ts';
import { blamesAccount } from './failure.ts';

/**
 * `challenge_page`: a network's guard answered. `client_version`: the provider does not accept the version that the read stated.
 * `credential`: the provider does not accept the credential or the account. `status`: any other reason.
 */
export type ReadRefusal = 'challenge_page' | 'client_version' | 'credential' | 'status';

export interface RefusedRead {
  readonly status: number;
  readonly headers: Headers;
  /** The decoded JSON. */
  readonly body: unknown;
}

const NO_BYTES = Buffer.alloc(0);

export function readRefusal({ status, headers, body }: RefusedRead): ReadRefusal {
  if (isChallengePage(status, headers, NO_BYTES)) return 'challenge_page';
  if (blamesAccount({ status })) return 'credential';
  // Providers name the parameter in the text of a message, or in the place of a validation error.
  return status < 500 && JSON.stringify(body)?.includes('client_version') ? 'client_version' : 'status';
}
