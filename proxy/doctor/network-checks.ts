// Checks certificates, and reaches the accounts over the network: names, connections, certificates and clocks.
import { X509Certificate } from 'node:crypto';
import { DAY_MS } from '../base/time/utc-days.ts';
import type { Config, LoadedConfig } from '../config/config.ts';
import { SOON_DAYS } from '../config/loading/certificates.ts';
import { isRehearsal } from '../turn/provider/rehearsal-address.ts';
import { egressOf } from '../upstream/egress/egress.ts';
import type { EgressRoute } from '../upstream/egress/route.ts';
import type { Diagnosis } from './diagnosis.ts';
import { type Certificate, type Reached, reach } from './reach.ts';

/** The longest time of each step. A lower `timeouts.upstream_connect_ms` applies only to the gateway. */
const DEADLINE_MS = 10_000;

export async function networkDiagnoses(
  config: Pick<Config, 'accounts' | 'timeouts'>,
  ways: Pick<LoadedConfig, 'connections' | 'environment'>,
): Promise<readonly Diagnosis[]> {
  const deadlineMs = Math.min(DEADLINE_MS, config.timeouts.upstream_connect_ms);
  const asked = destinations(config, ways);
  if (asked.length === 0) return [{ check: 'connection', level: 'ok', message: 'All accounts are simulated: no address is asked.' }];
  const reached = await Promise.all(
    asked.map(async (destination) => ({ destination, ...(await reach(destination.origin, destination.route, deadlineMs)) })),
  );
  const found = reached.flatMap(({ destination, ...result }) => destinationDiagnoses(destination, result, deadlineMs));
  return [...found, ...clockDiagnoses(reached.flatMap(({ clockAheadMs }) => clockAheadMs ?? []))];
}

function destinationDiagnoses(destination: Destination, reached: Reached, deadlineMs: number): readonly Diagnosis[] {
  const { addresses, lookupMs, certificate, connectedMs, answerMs, failure } = reached;
  const { hostname } = new URL(destination.origin);
  const isProxied = destination.route?.isProxied ?? false;
  const named = `${destination.origin} (${destination.users.join(', ')})${isProxied ? ' through its proxy' : ''}`;
  const found: Diagnosis[] = [];
  if (addresses !== undefined) {
    const count = `${addresses} ${addresses === 1 ? 'address' : 'addresses'}`;
    found.push({ check: 'dns', level: 'ok', message: `${hostname} has ${count}, found after ${Math.ceil(lookupMs ?? 0)} ms.` });
  }
  if (answerMs !== undefined)
    found.push({
      check: 'connection',
      level: 'ok',
      message: `${named} is connected after ${Math.ceil(connectedMs ?? answerMs)} ms, and answers after ${Math.ceil(answerMs)} ms.`,
    });
  if (failure?.step === 'certificate') found.push(refusedCertificate(destination.origin, failure.code, []));
  else if (failure) found.push(failureDiagnosis(failure, { named, hostname, deadlineMs, isProxied }));
  if (certificate) found.push(certificateDiagnosis(certificate, { origin: destination.origin, now: Date.now() }));
  return found;
}

function failureDiagnosis(
  { step, code }: NonNullable<Reached['failure']>,
  {
    named,
    hostname,
    deadlineMs,
    isProxied,
  }: { readonly named: string; readonly hostname: string; readonly deadlineMs: number; readonly isProxied: boolean },
): Diagnosis {
  const cause = code === 'late' ? `nothing for ${deadlineMs} ms` : code;
  if (step === 'dns') {
    const advice = 'Correct the address in config.yaml, or the name servers of this machine.';
    return { check: 'dns', level: 'problem', message: `The host of ${named} has no address (${cause}).`, advice };
  }
  if (step === 'connection') {
    const advice = isProxied
      ? 'Check the proxy of the account or of the environment, its credential, and whether it permits the host.'
      : code === 'ECONNREFUSED'
        ? 'Nothing listens there: start the server, or correct the host and the port of the address.'
        : `Check firewalls and routes from this machine to ${hostname}, and the provider.`;
    return { check: 'connection', level: 'problem', message: `${named} cannot be connected to (${cause}).`, advice };
  }
  const message = `${named} accepts connections, and did not answer HEAD / (${cause}).`;
  return { check: 'connection', level: 'warning', message, advice: 'Try a turn: some providers answer only on their own paths.' };
}

const FAULTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'has expired',
  CERT_NOT_YET_VALID: 'is not valid yet, or the clock of this machine is wrong',
  ERR_TLS_CERT_ALTNAME_INVALID: 'is for another host',
};

function certificateDiagnosis(
  { validTo, fault, hosts }: Certificate,
  { origin, now }: { readonly origin: string; readonly now: number },
): Diagnosis {
  const check = 'certificate';
  const days = Math.floor((validTo - now) / DAY_MS);
  if (fault !== undefined) return refusedCertificate(origin, fault, hosts);
  const message = `The certificate of ${origin} is valid for ${days === 1 ? '1 more day' : `${days} more days`}.`;
  if (days >= SOON_DAYS) return { check, level: 'ok', message };
  return { check, level: 'warning', message, advice: 'Ask the provider when it will be renewed.' };
}

/** The most hosts of a certificate that are named. */
const MOST_HOSTS = 5;

function adviceFor(fault: string, hosts: readonly string[]): string {
  if (fault === 'CERT_HAS_EXPIRED') return 'Ask the provider to renew it.';
  if (fault === 'CERT_NOT_YET_VALID') return 'Correct the clock of this machine, or inform the provider.';
  if (fault === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const named = hosts.length === 0 ? '' : `: ${hosts.slice(0, MOST_HOSTS).join(', ')}${hosts.length > MOST_HOSTS ? ', …' : ''}`;
    return `Correct the host of the address in config.yaml. It has to be one of those in the certificate${named}.`;
  }
  return 'Name the file of its certificate authority in tls.ca of the account, if the authority is your own. Else inform the provider.';
}

/** @param fault the code of the refusal @param hosts the hosts of the certificate, if they are known */
const refusedCertificate = (origin: string, fault: string, hosts: readonly string[]): Diagnosis => ({
  check: 'certificate',
  level: 'problem',
  message: `The certificate of ${origin} ${FAULTS[fault] ?? `is not trusted (${fault})`}.`,
  advice: adviceFor(fault, hosts),
});

/** The certificate of the client listener. @param pem the content of its file, which was found to be valid */
export function ownCertificateDiagnosis(pem: string): Diagnosis {
  const check = 'certificate';
  const days = Math.floor((Date.parse(new X509Certificate(pem).validTo) - Date.now()) / DAY_MS);
  if (days < 0) return { check, level: 'problem', message: 'The certificate of listen.tls has expired.', advice: RENEW };
  const message = `The certificate of listen.tls is valid for ${days === 1 ? '1 more day' : `${days} more days`}.`;
  return days >= SOON_DAYS ? { check, level: 'ok', message } : { check, level: 'warning', message, advice: RENEW };
}

const RENEW = 'Replace its files: the gateway reads them again by itself.';

/**
 * The largest difference of a clock that is not reported. Rounding is half a second, and the way takes time. NTP keeps a clock within less.
 */
const OFF_MS = 5_000;
/**
 * The difference from which a clock is a problem: nodes refuse each other's requests (Q34), and cooldowns and quota end at a wrong time.
 */
const WRONG_MS = 30_000;

/** Compares the clock with the median of the accounts' clocks, because a single account may be wrong itself. */
function clockDiagnoses(aheadMs: readonly number[]): readonly Diagnosis[] {
  const check = 'clock';
  const median = aheadMs.toSorted((a, b) => a - b)[Math.floor(aheadMs.length / 2)];
  if (median === undefined) return [];
  const seconds = Math.round(Math.abs(median) / 1000);
  if (Math.abs(median) <= OFF_MS) return [{ check, level: 'ok', message: 'The clock agrees with that of the accounts.' }];
  const message = `The clock of this machine is ${seconds} s ${median > 0 ? 'behind' : 'ahead of'} that of the accounts.`;
  return [
    {
      check,
      level: Math.abs(median) > WRONG_MS ? 'problem' : 'warning',
      message,
      advice: 'Let NTP set the clock, such as by chrony or systemd-timesyncd.',
    },
  ];
}

interface Destination {
  /** Scheme, host and port. */
  readonly origin: string;
  /** The route of its accounts; undefined for direct connections. */
  readonly route: EgressRoute | undefined;
  /** The ids of the accounts that use it, as they are shown to people. */
  readonly users: readonly string[];
}

/** The origins of the accounts, without simulated ones. An origin that accounts reach in different ways is checked in each of them. */
function destinations(
  { accounts }: Pick<Config, 'accounts'>,
  ways: Pick<LoadedConfig, 'connections' | 'environment'>,
): readonly Destination[] {
  const uses = accounts.flatMap((account) => {
    const { id, base_url, credential } = account;
    if (isRehearsal(base_url)) return [];
    const egress = egressOf(account, ways);
    const use = (address: string, user: string) => {
      const { origin } = new URL(address);
      return { origin, user, route: egress.routeTo(origin), way: `${egress.identity} ${origin}` };
    };
    const own = use(base_url, id);
    if (!credential || !('oauth' in credential)) return [own];
    return [own, use(credential.oauth.token_url, `login of ${id}`)];
  });
  const byWay = Map.groupBy(uses, ({ way }) => way);
  return [...byWay.values()].flatMap((its) => {
    const [first] = its;
    return first ? [{ origin: first.origin, route: first.route, users: [...new Set(its.map(({ user }) => user))] }] : [];
  });
}
