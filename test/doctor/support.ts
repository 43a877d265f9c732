// Shared by the tests of `doctor`: files in their own folder, servers on loopback, and the diagnoses of a run.
import { chmodSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server as SocketServer } from 'node:net';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { CheckName, Diagnosis } from '../../proxy/doctor/diagnosis.ts';
import { poolgate } from '../cli/run.ts';
import { fileWith, HASH } from '../config/files.ts';
import type { SelfSigned } from '../support/network/certificate.ts';

/** A valid file; its ports are free ones, and its secret files have the right modes. */
export function fileFor(
  context: TestContext,
  { accounts = ['rehearsal:'], rest = '' }: { readonly accounts?: readonly string[]; readonly rest?: string } = {},
): string {
  const rows = accounts.map(
    (url, i) =>
      `  - { id: account-${i}, base_url: "${url}"${url.startsWith('rehearsal:') ? '' : `, credential: { bearer: { file: token-${i} } }`} }`,
  );
  const text = `listen: { port: 0 }
admin: { port: 0 }
store: sqlite:poolgate.db
store_key: { file: store.key }
limits: { connections: 100 }
timeouts: { upstream_connect_ms: 2000 }
accounts:
${rows.join('\n')}
pools:
  - { id: team, assignments: [${accounts.map((_, i) => `{ account: account-${i} }`).join(', ')}] }
keys:
  - { id: ci, pool: team, secret_sha256: [${HASH}] }
${rest}`;
  const path = fileWith(context, text);
  for (const i of accounts.keys()) secretFile(join(dirname(path), `token-${i}`), 0o600);
  return path;
}

export const SECRET = 'Canary-secret-of-the-account';

export function secretFile(path: string, mode: number): void {
  writeFileSync(path, SECRET);
  chmodSync(path, mode);
}

export interface Report {
  readonly code: number;
  readonly out: string;
  readonly ok: boolean;
  readonly checks: readonly Diagnosis[];
  /** The diagnoses of one check, as `level: message`. */
  of(check: CheckName): readonly string[];
}

export async function doctor(path: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<Report> {
  const { code, out } = await poolgate(['doctor', '--json', '--config', path, ...args], env);
  const { ok, checks } = JSON.parse(out) as Pick<Report, 'ok' | 'checks'>;
  const of = (check: CheckName) => checks.filter((one) => one.check === check).map(({ level, message }) => `${level}: ${message}`);
  return { code, out, ok, checks, of };
}

/** Starts the server, which ends with the test. @returns its port */
export async function listening(context: TestContext, server: SocketServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.after(() => {
    if ('closeAllConnections' in server) (server as Server).closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** @returns the address of an account that answers over plain http */
export const httpAccount = async (context: TestContext, answer: RequestListener): Promise<string> =>
  `http://127.0.0.1:${await listening(context, createServer(answer))}`;

/** @returns the address of an account with this certificate */
export async function tlsAccount(context: TestContext, certificate: SelfSigned): Promise<string> {
  return `https://localhost:${await listening(
    context,
    createTlsServer(certificate, (_request, response) => response.end()),
  )}`;
}

/** Makes this process trust self-signed certificates, as NODE_EXTRA_CA_CERTS would. */
export function trust(context: TestContext, certificates: readonly SelfSigned[]): void {
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, ...certificates.map(({ cert }) => cert)]);
  context.after(() => setDefaultCACertificates(before));
}
