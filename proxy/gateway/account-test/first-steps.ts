// The first steps of a test, with or without a running gateway: whether the credential can be read, and the list of models with it (AA87).
import type { AccountTestStep } from '../../admin/replies/account-test-report.ts';
import { type Clock, LATE, withDeadline } from '../../base/time/clock.ts';
import type { LoadedConfig } from '../../config/config.ts';
import { parseCatalog } from '../../models/catalog/catalog-parser.ts';
import { isApiAccount } from '../../turn/provider/api-account.ts';
import type { ProviderApi } from '../../turn/provider/provider-api.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import { ownRequestHeaders } from '../../turn/wire/own-request.ts';
import { type AccountHeaders, CredentialUnavailable } from '../../upstream/account-credentials.ts';
import { call } from '../../upstream/call.ts';
import type { Upstream } from '../../upstream/upstreams.ts';
import { catalogBounds } from '../catalog-read.ts';
import { testFailure, testStep } from './test-step.ts';

/** The most models that a step names. */
const NAMED_MODELS = 5;

export interface ReadCredential {
  readonly clock: Clock;
  readonly read: () => AccountHeaders | Promise<AccountHeaders>;
  /** Whether an account with a login has one. */
  readonly hasLogin: () => Promise<boolean>;
}

/** @returns no headers if the account has no credential to send */
export async function credentialStep(
  account: AccountConfig,
  { clock, read, hasLogin }: ReadCredential,
): Promise<{ readonly step: AccountTestStep; readonly headers?: AccountHeaders }> {
  const began = clock.now();
  const named = () => ({ step: 'credential', ms: clock.now() - began }) as const;
  try {
    const headers = await read();
    return { headers, step: testStep({ ...named(), found: account.credential ? 'it can be read' : 'none is configured' }) };
  } catch (thrown) {
    if (!(thrown instanceof CredentialUnavailable)) throw thrown;
    const isMissing = thrown.why === 'refused' && !(await hasLogin());
    const message = isMissing ? 'it has no login' : UNAVAILABLE[thrown.why];
    return { step: testStep({ ...named(), failure: testFailure(WHY[thrown.why], { message }) }) };
  }
}

const UNAVAILABLE = {
  refused: 'the provider refuses its login',
  failed: 'its token endpoint does not answer',
  challenged: "a network's guard answers instead of its token endpoint",
} satisfies Record<CredentialUnavailable['why'], string>;

const WHY = { refused: 'credential', failed: 'token_url', challenged: 'challenge_page' } satisfies Record<
  CredentialUnavailable['why'],
  string
>;

export interface ListReading {
  readonly clock: Clock;
  readonly provider: Pick<ProviderApi, 'catalog'>;
  readonly upstream: Upstream;
  /** The headers with the credential. */
  readonly headers: AccountHeaders;
  readonly wire: LoadedConfig['config']['wire'];
}

/** Undefined for an account whose list is not read. */
export async function modelsStep(account: AccountConfig, reading: ListReading): Promise<AccountTestStep | undefined> {
  if (isApiAccount(account) && account.read_models === false) return undefined;
  const { clock, provider, upstream, wire } = reading;
  const began = clock.now();
  const bounds = catalogBounds(account);
  const headers = { ...ownRequestHeaders(account), ...reading.headers };
  const named = () => ({ step: 'models', ms: clock.now() - began }) as const;
  const failed = (...failure: Parameters<typeof testFailure>): AccountTestStep =>
    testStep({ ...named(), failure: testFailure(...failure) });
  upstream.lease();
  try {
    const read = provider.catalog.read(
      (path, from = 'base') => call(upstream.carrier, { method: 'GET', path, from, headers, body: null }, bounds),
      { account, wire },
    );
    const answer = await withDeadline(read, clock, bounds.ms);
    if (answer === LATE) return failed('timeout', { message: 'no list was answered in time' });
    const { status, body, refusal = 'status' } = answer;
    if (status === 401 || (status === 403 && refusal !== 'challenge_page')) {
      return failed('credential', { status, message: 'the credential is refused' });
    }
    if (status < 200 || status > 299) return failed(refusal, { status, message: 'no list of models is answered' });
    const parsed = parseCatalog(body);
    if (!parsed) return failed('malformed', { status, message: 'the answer is not a list of models' });
    return testStep({ ...named(), found: listText(parsed.entries.map(({ id }) => id)) });
  } catch (thrown) {
    const name = thrown instanceof Error ? (LOST[thrown.name] ?? LOST[thrown.message]) : undefined;
    return failed(name ?? 'network', { message: 'no list was answered' });
  } finally {
    upstream.release();
  }
}

/** The classes of failures for a read without an answer, by the error's name. */
const LOST: Readonly<Record<string, string>> = { TimeoutError: 'timeout', connect: 'connect', connect_timeout: 'connect' };

function listText(models: readonly string[]): string {
  const shown = models.slice(0, NAMED_MODELS).join(', ');
  const more = models.length > NAMED_MODELS ? ', …' : '';
  return `${models.length} ${models.length === 1 ? 'model' : 'models'}${shown === '' ? '' : ` (${shown}${more})`}`;
}
