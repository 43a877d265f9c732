// Speaks to the running gateway: its admin listener on this machine.

import type { ExplainedTurn, Question } from '../admin/explain/explanation.ts';
import type { Config } from '../config/config.ts';
import type { Change, Json } from '../config/diff.ts';
import type { Finding } from '../config/finding.ts';
import type { Route } from '../turn/turn.ts';
import type { LoggedTurn } from './logged-turn-text.ts';
import { CommandFailure } from './output.ts';

/** What GET /status answers, as far as commands rely on it. */
export interface StatusReply {
  /** `versionOf` the configuration that it runs on. */
  readonly version: string;
  /** `redact` of that configuration. */
  readonly config: Json;
}

/** What POST /reload answers with 200; with 422 the file is invalid, nothing changed, and the answer is `{ findings }`. */
export interface ReloadReply {
  readonly version: string;
  readonly changes: readonly Change[];
  readonly warnings: readonly Finding[];
}

const PATIENCE_MS = 15_000;

/** Where the answer is welcome and not needed. */
const ASIDE_MS = 2_000;

/** @throws {CommandFailure} when there is no gateway, or it does not answer as one. */
export async function fetchStatus(config: Config): Promise<StatusReply> {
  const { status, body } = await ask(config, 'GET', '/status');
  if (status !== 200 || !isObject(body) || !isObject(body.config)) throw strange(status);
  return body as unknown as StatusReply;
}

/** @throws {CommandFailure} also when the gateway refuses its file; then with the findings. */
export async function requestReload(config: Config): Promise<ReloadReply> {
  const { status, body } = await ask(config, 'POST', '/reload');
  if (status === 422 && isObject(body) && Array.isArray(body.findings)) {
    throw new CommandFailure('the gateway keeps its configuration; the file has mistakes:', {
      findings: body.findings as readonly Finding[],
    });
  }
  if (status !== 200 || !isObject(body) || !Array.isArray(body.changes)) throw strange(status);
  return { warnings: [], ...body } as unknown as ReloadReply;
}

/** @throws {CommandFailure} also when the gateway's request log has no such turn. */
export async function fetchTurn(config: Config, id: string): Promise<LoggedTurn> {
  const { status, body } = await ask(config, 'GET', `/turn?${new URLSearchParams({ id })}`);
  if (status === 404) throw new CommandFailure(`the request log has no turn '${id}'`);
  if (status !== 200 || !isObject(body) || !isObject(body.turn)) throw strange(status);
  return body as unknown as LoggedTurn;
}

/** What GET /explain answers. */
export interface ExplainReply {
  /** `versionOf` the configuration that the gateway runs on. */
  readonly version: string;
  readonly turns: readonly ExplainedTurn[];
}

/**
 * What the running gateway says of a turn; the reason where it says nothing, since a file can be explained without it.
 * @param route in the deployment's words
 */
export async function fetchExplained(
  config: Config,
  { method, template }: Pick<Route, 'method' | 'template'>,
  { key, model }: Question,
): Promise<ExplainReply | { readonly silent: string }> {
  const query = new URLSearchParams({ method, path: template });
  if (key !== undefined) query.set('key', key);
  if (model !== undefined) query.set('model', model);
  try {
    const { status, body } = await ask(config, 'GET', `/explain?${query}`, ASIDE_MS);
    if (status === 404 && isObject(body))
      return { silent: `the running gateway says: ${String(body.error)}; its configuration is another` };
    if (status !== 200 || !isObject(body) || !Array.isArray(body.turns)) throw strange(status);
    return body as unknown as ExplainReply;
  } catch (thrown) {
    if (thrown instanceof CommandFailure) return { silent: thrown.message };
    throw thrown;
  }
}

async function ask(
  { admin }: Config,
  method: 'GET' | 'POST',
  path: string,
  patienceMs = PATIENCE_MS,
): Promise<{ readonly status: number; readonly body: unknown }> {
  if (admin === false)
    throw new CommandFailure(
      'the file turns the admin listener off (admin: false), so a running gateway cannot be asked; SIGHUP reloads it',
    );
  if (admin.port === 0) throw new CommandFailure('the admin listener takes a free port (admin.port: 0), so it cannot be found');
  const origin = `http://${reachable(admin.host)}:${admin.port}`;
  try {
    // The header is one that no web page can send across origins unasked.
    const response = await fetch(origin + path, {
      method,
      headers: { 'x-poolgate-command': '1' },
      signal: AbortSignal.timeout(patienceMs),
    });
    return { status: response.status, body: await response.json().catch(() => undefined) };
  } catch {
    throw new CommandFailure(`no gateway answers at ${origin}; is it running, and on this file?`);
  }
}

/** Where to connect for what is listened on: "all interfaces" is no address to connect to. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

const strange = (status: number): CommandFailure =>
  new CommandFailure(
    status === 500
      ? 'the gateway failed at this; its log says where'
      : `what answers at the admin address (HTTP ${status}) is not a gateway of this version`,
  );

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null;
