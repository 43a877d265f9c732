// Checks the running gateway: whether it is ready, uses this file, and is logged in at its accounts. If none is running, checks whether its
// ports are free.
import { createServer } from 'node:net';
import { type CatalogReply, challengedAccounts, type StatusReply } from '../admin/replies/status-reply.ts';
import type { Config } from '../config/config.ts';
import { versionOf } from '../config/config-diff.ts';
import type { AccountConfig } from '../turn/settings.ts';
import { credentialAdvice } from '../upstream/credentials/credential-advice.ts';
import type { Diagnosis } from './diagnosis.ts';

/** The answer of the admin listener, or the reason why there is none. */
export type GatewayAnswer =
  | {
      readonly status: StatusReply;
      /** A sentence that names the file of the gateway, if it is not that of the command. */
      readonly otherFile: string | undefined;
    }
  | {
      /** Why a gateway that runs does not show its state to the caller. */
      readonly refused: string;
    }
  | { readonly unavailable: string };

const check = 'gateway';

export async function gatewayDiagnoses(config: Config, answer: GatewayAnswer): Promise<readonly Diagnosis[]> {
  if ('status' in answer) return runningDiagnoses(config, answer);
  if ('unavailable' in answer) return portDiagnoses(config, answer.unavailable);
  const message = `A gateway runs, and does not show its state: ${answer.refused}.`;
  return [{ check, level: 'warning', message, advice: 'Set POOLGATE_TOKEN to a token of an operator with `admin: true`.' }];
}

function runningDiagnoses(
  config: Config,
  { status: { ready, version, accounts, store, catalogs }, otherFile }: Extract<GatewayAnswer, { status: StatusReply }>,
): readonly Diagnosis[] {
  const found: Diagnosis[] = [];
  if (ready) found.push({ check, level: 'ok', message: 'A gateway runs and takes traffic.' });
  else
    found.push({
      check,
      level: 'problem',
      message: 'A gateway runs and takes no traffic.',
      advice: 'Read its log; it is starting or stopping.',
    });
  if (version !== versionOf(config)) {
    const message = 'The running gateway has another configuration than the file.';
    const advice = otherFile ?? 'See `poolgate diff`, then run `poolgate reload`, or restart it.';
    found.push({ check, level: 'warning', message, advice });
  }
  if (store.failing_since !== null) {
    const since = new Date(store.failing_since).toISOString();
    const message = `The running gateway has not been able to write its store since ${since}: ${store.queued} rows wait in memory.`;
    const advice = 'Its log has the reason (store_not_writable). Correct it before a stop: waiting rows are lost then.';
    found.push({ check, level: 'problem', message, advice });
  }
  if (store.in_use) {
    const message = 'Another gateway has the database of the running one: each of them counts limits and max_concurrent separately.';
    found.push({ check, level: 'problem', message, advice: 'Stop one of them, or use PostgreSQL for several.' });
  }
  for (const { account, status } of accounts) {
    if (status !== 'reauth_required') continue;
    const configured = config.accounts.find(({ id }) => id === account) ?? { id: account };
    found.push({ check, level: 'problem', message: refusedText(configured), advice: credentialAdvice(configured) });
  }
  for (const { account } of challengedAccounts(accounts)) {
    const message = `A guard of the network answers the turns of account ${account} with a challenge page.`;
    found.push({ check, level: 'problem', message, advice: CHALLENGE_ADVICE });
  }
  // The list of an account that has to log in cannot be read either, so it is not reported twice.
  const out = new Set(accounts.filter(({ status }) => status === 'reauth_required').map(({ account }) => account));
  return [...found, ...catalogs.filter(({ account }) => !out.has(account)).flatMap(catalogDiagnoses)];
}

const refusedText = ({ id, credential }: Pick<AccountConfig, 'id' | 'credential'>): string =>
  credential && 'oauth' in credential
    ? `Account ${id} has no login, or its provider refuses the one that it has.`
    : `The provider refuses the credential of account ${id}.`;

const CHECK_NETWORK = 'Check the network between this machine and the provider.';

const CHALLENGE_ADVICE =
  'List the headers that its provider demands under the `headers` of the account; some networks are refused whatever the headers are.';

/** The causes of failed reads. The gateway repeats a failed read, so only a failure that does not end by itself is a problem. */
export const READ_FAILURES: Readonly<Record<string, readonly [cause: string, advice: string]>> = {
  client_version: [
    'its provider does not accept the client version that was stated',
    'Set `wire.client_version` to a version that exists.',
  ],
  challenge_page: ['a guard of the network answers with a challenge page', CHALLENGE_ADVICE],
  credential: ['its provider refuses the credential', 'Check the credential and the `headers` of the account.'],
  status: ['its provider refuses the request', 'The log has the status (catalog_read_failed).'],
  malformed: ['the answer is not a list of models', 'Check the `base_url` of the account.'],
  timeout: ['its provider does not answer in time', CHECK_NETWORK],
  network: ['there is no connection to its provider, or it breaks off', CHECK_NETWORK],
};

/** The size from which a list is large. Some versions of clients read no larger list, and no client waits longer than 5 s. */
const LARGE_LIST_BYTES = 1_048_576;
const SLOW_LIST_MS = 2_000;

function catalogDiagnoses({ account, failure, bytes = 0, ms = 0 }: CatalogReply): readonly Diagnosis[] {
  const failed = failure === undefined ? undefined : READ_FAILURES[failure];
  const found: Diagnosis[] = [];
  if (failed)
    found.push({
      check,
      level: 'problem',
      message: `The model list of account ${account} cannot be read: ${failed[0]}.`,
      advice: failed[1],
    });
  if (bytes > LARGE_LIST_BYTES) {
    const message = `The model list of account ${account} has ${(bytes / LARGE_LIST_BYTES).toFixed(1)} MiB; native clients of some versions ignore a list over 1 MiB.`;
    const advice = 'Leave out unused models: `suppressed: true` in the Pool, or `models` of the key.';
    found.push({ check, level: 'warning', message, advice });
  }
  if (ms > SLOW_LIST_MS) {
    const message = `The model list of account ${account} took ${(ms / 1000).toFixed(1)} s; native clients wait 5 s for the first one after a start.`;
    found.push({ check, level: 'warning', message, advice: CHECK_NETWORK });
  }
  return found;
}

interface Address {
  readonly host: string;
  readonly port: number;
}

async function portDiagnoses({ listen, admin, metrics, node }: Config, unavailable: string): Promise<readonly Diagnosis[]> {
  const own = { host: listen.host, port: listen.port };
  const addresses = [own, admin, metrics, node.listen].filter(
    (address): address is Address => !!address && typeof address.port === 'number',
  );
  const faults = await Promise.all(addresses.map(listenFault));
  const found = addresses.flatMap((address, i): readonly Diagnosis[] => {
    const fault = faults[i];
    return fault === undefined ? [] : [faultDiagnosis(address, fault, { unavailable, asked: admin !== false && admin.port !== 0 })];
  });
  if (found.length > 0) return found;
  return [{ check, level: 'ok', message: `No gateway runs; ${addresses.map(nameOf).join(' and ')} can be listened on.` }];
}

const nameOf = ({ host, port }: Address): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;

/** The system's code if the address cannot be listened on; undefined if it can. */
function listenFault({ host, port }: Address): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const server = createServer();
  server.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unknown reason'));
  server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  return promise;
}

const ADVICE: Readonly<Record<string, string>> = {
  EACCES: 'Choose a port above 1023, or let the system give the process this one.',
  EADDRNOTAVAIL: 'Set `host` to an address of this machine.',
};

function faultDiagnosis(
  address: Address,
  fault: string,
  { unavailable, asked }: { readonly unavailable: string; readonly asked: boolean },
): Diagnosis {
  if (fault !== 'EADDRINUSE') {
    const advice = ADVICE[fault] ?? 'Correct `host` and `port`.';
    return { check, level: 'problem', message: `${nameOf(address)} cannot be listened on (${fault}).`, advice };
  }
  const message = `${nameOf(address)} is in use; ${/[.?]$/.test(unavailable) ? unavailable : `${unavailable}.`}`;
  const advice = 'Find the program that has the port; stop it, or choose another port.';
  // The port may belong to a gateway whose admin listener cannot be reached.
  return { check, level: asked ? 'problem' : 'warning', message, advice };
}
