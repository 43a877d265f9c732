// Resolves the secret references of the file. Messages never contain a secret.
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parsedJson } from '../../turn/json/json.ts';
import { isMapping, mapping, rowsOf, text } from '../checks/config-rows.ts';
import type { Path, Problem, Severity } from '../schema/finding.ts';
import { membersOfFile } from '../token-members.ts';

export interface SecretOptions {
  /** The folder to which paths are relative. */
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  /** Whether an unset environment variable is an error, as in `serve`, or a warning (Q33). */
  readonly strictEnv: boolean;
}

export interface Secrets {
  /** The bearer token of each account id, or the value of its credential's header. */
  readonly bearers: ReadonlyMap<string, string>;
  /** The URL of the PostgreSQL database. Undefined if the store is not PostgreSQL, or if the reference has a problem. */
  readonly database: string | undefined;
  /** The value of `node.secret`. */
  readonly nodeSecret: string | undefined;
  readonly problems: readonly Problem[];
}

/** @param data the content of the file; malformed parts are skipped, because the schema reports them */
export async function resolveSecrets(data: unknown, options: SecretOptions): Promise<Secrets> {
  const bearers = new Map<string, string>();
  const problems: Problem[] = [];
  const note = (problem: Problem | undefined) => problem && problems.push(problem);

  for (const { path, row } of rowsOf(data, 'accounts')) {
    const { bearer, header, oauth } = mapping(row.credential);
    const [kind, secretOf] = isMapping(bearer) ? ['bearer', bearer] : ['header', header];
    if (isMapping(secretOf)) {
      const secret = await resolveSecret(secretOf, [...path, 'credential', kind], options);
      if (typeof secret === 'string') bearers.set(text(row.id) ?? '', secret);
      else note(secret);
    }
    const file = text(mapping(oauth).file);
    if (file !== undefined) note(await tokensFile(file, [...path, 'credential', 'oauth', 'file'], options));
  }

  // Only an environment variable is checked here, because a key file is read or created when it is first needed.
  const storeKey = mapping(mapping(data).store_key);
  if (text(storeKey.env) !== undefined) {
    const secret = await resolveSecret(storeKey, ['store_key'], options);
    if (typeof secret !== 'string') note(secret);
  }
  const database = await databaseUrl(mapping(mapping(data).store).postgres, options);
  const nodeSecret = await resolveSecret(mapping(mapping(mapping(data).node).secret), ['node', 'secret'], options);
  for (const secret of [database, nodeSecret]) if (typeof secret === 'object') problems.push(secret);
  return { bearers, database: textOf(database), nodeSecret: textOf(nodeSecret), problems };
}

const textOf = (secret: string | Problem | undefined): string | undefined => (typeof secret === 'string' ? secret : undefined);

async function databaseUrl(reference: unknown, options: SecretOptions): Promise<string | Problem | undefined> {
  const path = ['store', 'postgres'];
  const url = isMapping(reference) ? await resolveSecret(reference, path, options) : undefined;
  if (typeof url !== 'string' || (/^postgres(?:ql)?:\/\/[^/]/.test(url) && URL.canParse(url))) return url;
  return { path, message: 'the referenced secret is not a URL such as postgres://USER:PASSWORD@HOST:5432/DATABASE' };
}

/** The secret, or the problem of its reference. Undefined for a malformed reference. */
export async function resolveSecret(
  reference: Readonly<Record<string, unknown>>,
  path: Path,
  options: SecretOptions,
): Promise<string | Problem | undefined> {
  const { env, file } = reference;
  if (typeof env === 'string' && file === undefined) {
    const value = options.env[env];
    const severity: Severity = options.strictEnv ? 'error' : 'warning';
    if (value === undefined) return { path: [...path, 'env'], message: `the environment variable ${env} is not set`, severity };
    return checked(value, [...path, 'env'], severity);
  }
  if (typeof file === 'string' && env === undefined) {
    const content = await contentOf(resolve(options.folder, file));
    if (content.text === undefined) return { path: [...path, 'file'], message: content.fault };
    return checked(content.text, [...path, 'file'], 'error');
  }
  return undefined;
}

function checked(value: string, path: Path, severity: Severity): string | Problem {
  // Editors and secret mounts add a line break to the file, which is not part of the secret.
  const secret = value.replace(/\r?\n$/, '');
  if (secret.trim() === '') return { path, message: 'the referenced secret is empty', severity };
  if (!/^[!-~]+$/.test(secret))
    return { path, message: 'the referenced secret has spaces, line breaks or other characters that are not allowed in a header' };
  return secret;
}

async function tokensFile(file: string, path: Path, { folder }: SecretOptions): Promise<Problem | undefined> {
  const content = await contentOf(resolve(folder, file));
  if (content.text === undefined) return { path, message: content.fault };
  // No parser error is reported, because it would quote the file, which is secret.
  const tokens = parsedJson(content.text);
  if (!isMapping(tokens)) return { path, message: 'this file is not a JSON object of tokens' };
  return membersOfFile(tokens) ? undefined : { path, message: 'this file has neither an access_token nor a refresh_token' };
}

async function contentOf(file: string): Promise<{ readonly text: string } | { readonly text?: undefined; readonly fault: string }> {
  try {
    return { text: await readFile(file, 'utf8') };
  } catch (error) {
    return { fault: fileFault(error) };
  }
}

export const NO_FILE = 'there is no such file';

/** Describes a file error without the message of the system. */
export function fileFault(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ENOENT' || code === 'ENOTDIR') return NO_FILE;
  if (code === 'EACCES' || code === 'EPERM') return 'this file cannot be read: permission denied';
  if (code === 'EISDIR') return 'this is a folder, not a file';
  return `this file cannot be read (${code || 'unknown reason'})`;
}
