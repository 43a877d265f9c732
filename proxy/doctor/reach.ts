// Reaches an origin as the gateway would, step by step: the name of its host, the connection with its certificate, and an answer.
import { lookup } from 'node:dns/promises';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { TLSSocket } from 'node:tls';
import { LATE, systemClock, withDeadline } from '../base/time/clock.ts';
import { type EgressRoute, NO_TUNNEL } from '../upstream/egress/route.ts';

export interface Certificate {
  /** Unix milliseconds. */
  readonly validTo: number;
  /** The code of OpenSSL or Node with which the gateway would refuse the certificate; undefined if it would accept it. */
  readonly fault: string | undefined;
  /** The hosts that it is for, as the certificate states them. */
  readonly hosts: readonly string[];
}

export interface Reached {
  /** The number of addresses of the host's name. Undefined if the host is an address. */
  readonly addresses?: number;
  /** The time of the look-up of the name. */
  readonly lookupMs?: number;
  /** Undefined for plain http. */
  readonly certificate?: Certificate;
  /** The time until the connection can be used, including its TLS handshake. */
  readonly connectedMs?: number;
  /** Time from the start of the connection to the answer. */
  readonly answerMs?: number;
  /** The clock of the origin minus the clock of this machine, accurate to half a second. */
  readonly clockAheadMs?: number;
  /** The step that failed, with the system's code or `late`. */
  readonly failure?: { readonly step: 'dns' | 'connection' | 'certificate' | 'answer'; readonly code: string };
}

/**
 * @param route the route of the account's connections, because a proxy resolves names itself
 * @param deadlineMs the longest time of each of the three steps
 */
export async function reach(origin: string, route: EgressRoute | undefined, deadlineMs: number): Promise<Reached> {
  const { hostname } = new URL(origin);
  const host = hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0 || route?.isProxied) return ask(origin, route, deadlineMs);
  try {
    const began = performance.now();
    const found = await withDeadline(lookup(host, { all: true }), systemClock, deadlineMs);
    if (found === LATE) return { failure: { step: 'dns', code: 'late' } };
    return { addresses: found.length, lookupMs: performance.now() - began, ...(await ask(origin, route, deadlineMs)) };
  } catch (thrown) {
    return { failure: { step: 'dns', code: codeOf(thrown) } };
  }
}

/**
 * Requests the head of `/` without a credential. A certificate that the gateway would refuse is accepted, because nothing secret is sent,
 * and its dates can then be read. Through a proxy it is refused, and reported as a failed step.
 */
function ask(origin: string, route: EgressRoute | undefined, deadlineMs: number): Promise<Reached> {
  const { promise, resolve } = Promise.withResolvers<Reached>();
  const began = performance.now();
  const secure = origin.startsWith('https:');
  const agent = route?.agent({ keepAlive: false }, deadlineMs) ?? false;
  const request = (secure ? httpsRequest : httpRequest)(`${origin}/`, { method: 'HEAD', agent, rejectUnauthorized: false });
  let step: 'connection' | 'answer' = 'connection';
  let certificate: { readonly certificate?: Certificate } = {};
  let connectedMs: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  const wait = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => request.destroy(Object.assign(new Error('late'), { code: 'late' })), deadlineMs);
  };
  const end = (reached: Reached): void => {
    clearTimeout(timer);
    resolve({ ...certificate, ...reached });
    request.destroy();
  };
  wait();
  request.on('socket', (socket) => {
    const connected = (): void => {
      step = 'answer';
      connectedMs = performance.now() - began;
      if (socket instanceof TLSSocket) certificate = certificateOf(socket);
      wait();
    };
    // A tunnel is passed on only when it can be used.
    if (route?.isProxied) connected();
    else socket.once(secure ? 'secureConnect' : 'connect', connected);
  });
  request.on('response', ({ headers }) => {
    const answerMs = performance.now() - began;
    const date = Date.parse(headers.date ?? '');
    // The header states whole seconds, rounded down, and was written about half of the round trip ago.
    const ahead = date + 500 - (Date.now() - answerMs / 2);
    end({ answerMs, connectedMs: connectedMs ?? answerMs, ...(Number.isNaN(date) ? {} : { clockAheadMs: ahead }) });
  });
  request.on('error', (error) => {
    const isRefused = step === 'connection' && CERTIFICATE_FAULT.test(ownCodeOf(error) ?? '');
    end({ failure: { step: isRefused ? 'certificate' : step, code: codeOf(error) } });
  });
  request.end();
  return promise;
}

function certificateOf(socket: TLSSocket): { readonly certificate?: Certificate } {
  const { valid_to, subjectaltname = '' } = socket.getPeerCertificate();
  if (valid_to === undefined) return {};
  // The type is Error, but the value is the code of an error.
  const fault = socket.authorized ? undefined : String(socket.authorizationError);
  const hosts = [...subjectaltname.matchAll(/(?:DNS|IP Address):([\w.*:-]+)/g)].map(([, host = '']) => host);
  return { certificate: { validTo: Date.parse(valid_to), fault, hosts } };
}

/** Matches the codes with which OpenSSL and Node refuse a certificate. */
const CERTIFICATE_FAULT = /CERT|UNABLE_TO_(?:GET|VERIFY)|SELF_SIGNED|HOSTNAME_MISMATCH/;

const ownCodeOf = (thrown: Error): string | undefined => ('code' in thrown ? String(thrown.code) : undefined);

/** The reason why a tunnel was not opened: the proxy's answer, or why the proxy could not be reached. */
function codeOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'unknown reason';
  const code = ownCodeOf(thrown);
  if (code === NO_TUNNEL && thrown.cause instanceof Error) return ownCodeOf(thrown.cause) ?? thrown.cause.message;
  return code ?? 'unknown reason';
}
