// Loads config.yaml: parses, validates and checks it, fills in defaults, resolves secrets, and reports all findings at once.
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { ExposedModels } from '../checks/aliases.ts';
import { runChecks } from '../checks/checks.ts';
import type { Config, LoadedConfig } from '../config.ts';
import { locate } from '../file/positions.ts';
import { parseYaml } from '../file/yaml.ts';
import { ConfigError, type Finding, inFileOrder, isError, type Problem } from '../schema/finding.ts';
import { validate } from '../schema/validate.ts';
import { compile } from './compile.ts';
import { type ResolvedConnections, resolveConnections } from './resolved-connections.ts';
import { fileFault, NO_FILE, resolveSecrets, type Secrets } from './secrets.ts';

export interface LoadOptions {
  /** The environment for `{ env: NAME }`. Default: that of the process. */
  readonly env?: NodeJS.ProcessEnv;
  /** Whether an unset environment variable is an error (the default, as in `serve`) or a warning (as in `check`). */
  readonly strictEnv?: boolean;
}

/**
 * Loads a file for serving.
 * @param path relative to the working folder; findings repeat it
 * @returns the deeply frozen configuration, and warnings
 * @throws {ConfigError} with all findings of the file, in file order
 */
export async function loadConfig(path: string, options: LoadOptions = {}): Promise<{ loaded: LoadedConfig; warnings: Finding[] }> {
  const { config, findings, ...resolved } = await inspect(await readConfig(path), { path, ...options });
  if (!config) throw new ConfigError(findings);
  return { loaded: { config, path: resolve(path), ...resolved }, warnings: [...findings] };
}

export interface InspectOptions extends LoadOptions {
  readonly path: string;
  /** If false, secrets are not read, as in commands that only inspect or edit the file. */
  readonly secrets?: boolean;
  /** If false, nothing is said about a certificate that expires soon, as in `doctor`, which checks it itself. */
  readonly certificateDates?: boolean;
  /** The models of a running gateway, for warnings about names that it does not list. */
  readonly exposed?: ExposedModels | undefined;
}

export interface Inspection {
  /** Undefined if the file has an error. */
  readonly config: Config | undefined;
  readonly bearers: ReadonlyMap<string, string>;
  readonly connections: LoadedConfig['connections'];
  readonly environment: LoadedConfig['environment'];
  readonly listenTls: LoadedConfig['listenTls'];
  /** The argument of `openStore`; empty if the URL of the database was not read. */
  readonly storeUrl: string;
  readonly nodeSecret: string | undefined;
  /** Errors and warnings, in file order. */
  readonly findings: readonly Finding[];
}

/** Checks the text of a file. @param path the name of the file in findings, to which relative paths refer */
export async function inspect(
  text: string,
  { path, env = process.env, strictEnv = true, secrets = true, certificateDates = true, exposed }: InspectOptions,
): Promise<Inspection> {
  const parsed = parseYaml(text, path);
  if (!parsed.readable) return nothing(inFileOrder(parsed.findings));

  const data: unknown = parsed.document.toJS();
  const folder = dirname(resolve(path));
  const problems = [...(await validate(data)), ...runChecks(data, Date.now(), exposed)];
  const options = { folder, env, strictEnv, certificateDates };
  const resolved = secrets ? await resolveSecrets(data, options) : NO_SECRETS;
  const connected = secrets ? await resolveConnections(data, options) : NO_CONNECTIONS;
  const reported = firstOfEachPlace([...problems, ...resolved.problems, ...connected.problems]);
  const findings = inFileOrder([...parsed.findings, ...locate(reported, { parsed, data, file: path })]);
  if (findings.some(isError)) return nothing(findings);
  const config = compile(data, folder);
  const storeUrl = typeof config.store === 'string' ? config.store : (resolved.database ?? '');
  const { bearers, nodeSecret } = resolved;
  const { connections, environment, listenTls } = connected;
  return { config, bearers, connections, environment, listenTls, storeUrl, nodeSecret, findings };
}

const NO_SECRETS: Secrets = { bearers: new Map(), database: undefined, nodeSecret: undefined, problems: [] };

const NO_CONNECTIONS: ResolvedConnections = { connections: new Map(), environment: undefined, listenTls: undefined, problems: [] };

const nothing = (findings: readonly Finding[]): Inspection => ({
  config: undefined,
  bearers: NO_SECRETS.bearers,
  connections: NO_CONNECTIONS.connections,
  environment: undefined,
  listenTls: undefined,
  storeUrl: '',
  nodeSecret: undefined,
  findings,
});

/** Reads the text of a file. @throws {ConfigError} if it cannot be read or is not UTF-8 */
export async function readConfig(path: string): Promise<string> {
  const fail = (message: string) => new ConfigError([{ file: path, line: 1, column: 1, message, severity: 'error' }]);
  const bytes = await readFile(path).catch((error: unknown) => {
    const fault = fileFault(error);
    throw fail(fault === NO_FILE ? `${fault}: \`poolgate init\` writes one` : fault);
  });
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw fail('this file is not UTF-8 text');
  }
}

/** Keeps the first problem of each place, because later ones follow from it. All missing keys of a mapping are kept. */
function firstOfEachPlace(problems: readonly Problem[]): readonly Problem[] {
  const seen = new Set<string>();
  return problems.filter(({ path, at, message }) => {
    const place = JSON.stringify(at === 'first-key' ? [path, message] : path);
    return !seen.has(place) && seen.add(place);
  });
}
