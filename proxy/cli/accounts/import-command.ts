// `account import`: takes over the logins in tokens files of client programs.
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { LoginReply } from '../../admin/replies/account-replies.ts';
import { loginText } from '../../admin/replies/login-text.ts';
import type { Config } from '../../config/config.ts';
import { indexIn } from '../../config/file/edits/invalid-edit.ts';
import { rewriteConfig } from '../../config/file/file-replacement.ts';
import { fileFault } from '../../config/loading/secrets.ts';
import type { Json } from '../../turn/json/json.ts';
import type { OauthCredential } from '../../turn/settings.ts';
import { DEFAULT_CLAIM, loginIdentity } from '../../upstream/credentials/login/identity.ts';
import { type FoundLogin, loginsIn } from '../../upstream/credentials/login/token-shapes.ts';
import { addCommand, CommandFailure, type CommonOptions, type Io, inspectValid, json } from '../command.ts';
import { poolNamed } from '../pool-named.ts';
import { accountEdits } from './account-edits.ts';
import { type LoginPlace, loginPlace } from './login-place.ts';
import { type AccountOptions, addLoginOptions, type NewAccountRow, rowOf } from './new-account.ts';
import { requiredOauth } from './required-oauth.ts';

interface ImportOptions extends CommonOptions, Omit<AccountOptions, 'preset' | 'simulated' | 'env' | 'secretFile'> {
  readonly account?: string;
  readonly like?: string;
  readonly pool?: string;
  readonly anotherUser?: boolean;
}

/** A login in a file, with its origin. */
interface FileLogin extends FoundLogin {
  readonly file: string;
  readonly identity: string | undefined;
}

interface Outcome {
  readonly file: string;
  readonly account: string | null;
  /** The result as a sentence. */
  readonly result: string;
  readonly ok: boolean;
}

export function addAccountImport(account: Command, io: Io): void {
  const command = addCommand(account, {
    usage: 'import <file...>',
    description:
      'take over the logins of tokens files into the encrypted store; the files are not written. A refresh token works once: its program has to ' +
      'log in again afterwards, and a login that was taken over is refused a second time',
    examples: [
      'poolgate account import ~/.client/auth.json --account north',
      'poolgate account import tokens/*.json --like north',
      'poolgate account import auth.json --base-url https://provider.example --token-url https://auth.provider.example/token --client-id client-1',
    ],
  });
  addLoginOptions(command)
    .option('--account <id>', 'an account of the file that gets the login; else each login gets a new account')
    .option('--like <id>', 'new accounts have the settings of this one')
    .option('--pool <id>', 'the Pool of new accounts; optional if the file has only one')
    .option('--another-user', 'accept another user than that of the last login')
    .action(async (files: readonly string[], options: ImportOptions) => {
      const config = await inspectValid(options.config, io);
      const claim = claimOf(config, options);
      const logins = (await Promise.all(files.map((file) => readLogins(file, claim)))).flat();
      if (options.account !== undefined && logins.length !== 1) {
        throw new CommandFailure(`--account takes one login, and the files have ${logins.length}`, { exitCode: 2 });
      }
      const place = await loginPlace(options.config, io);
      const outcomes: Outcome[] = [];
      try {
        const seen = new Map<string, string>();
        for (const login of logins) {
          const twin = login.identity === undefined ? undefined : seen.get(login.identity);
          if (twin === undefined) outcomes.push(await taken(place, { login, config, options }, outcomes));
          else
            outcomes.push({
              file: login.file,
              account: null,
              ok: false,
              result: `${login.file}: it has the user '${login.identity}' of ${twin}; two accounts of one user share its quota. Nothing was taken over`,
            });
          if (login.identity !== undefined) seen.set(login.identity, twin ?? login.file);
        }
      } finally {
        await place.close();
      }
      if (options.json) io.out(json(outcomes));
      else for (const { ok, result } of outcomes) (ok ? io.out : io.err)(`${result}\n`);
      if (!outcomes.every(({ ok }) => ok)) throw new CommandFailure('');
    });
}

interface Taking {
  readonly login: FileLogin;
  readonly config: Config;
  readonly options: ImportOptions;
}

/** Stores the login first, because a row in the file without a login would be an account that cannot work. */
async function taken(place: LoginPlace, { login, config, options }: Taking, before: readonly Outcome[]): Promise<Outcome> {
  const known = options.account;
  const id = known ?? newId(login, [...config.accounts.map((one) => one.id), ...before.flatMap(({ account }) => account ?? [])]);
  const row = known === undefined ? newRow(id, login, { config, options }) : undefined;
  if (known !== undefined) requiredOauth(config.accounts[indexIn(config.accounts, known, 'account')], known);
  const pool = row && poolNamed(config, options.pool);
  try {
    const reply: LoginReply = await place.store(id, {
      tokens: login.tokens,
      ...(login.expiresAt !== undefined && { expires_at: login.expiresAt }),
      by: 'import',
      another_user: options.anotherUser ?? false,
      identity_claim: claimOf(config, options),
    });
    if (row && pool !== undefined) await rewriteConfig(options.config, (input) => accountEdits(input, { row, pool }));
    const added = pool === undefined ? '' : `; the account was added to the file, for Pool '${pool}'`;
    return { file: login.file, account: id, ok: true, result: `${login.file}: ${loginText(reply, place)}${added}` };
  } catch (thrown) {
    if (!(thrown instanceof CommandFailure)) throw thrown;
    return { file: login.file, account: null, ok: false, result: `${login.file}: ${thrown.message}` };
  }
}

/** @throws {CommandFailure} if the file cannot be read, or has no login; its text is never repeated */
async function readLogins(file: string, claim: OauthCredential['identity_claim']): Promise<readonly FileLogin[]> {
  const text = await readFile(file, 'utf8').catch((thrown: unknown) => {
    throw new CommandFailure(`${file}: ${fileFault(thrown)}`);
  });
  const logins = loginsIn(parsed(text));
  if (logins.length === 0) throw new CommandFailure(`${file}: it has no login: no JSON object there has a refresh_token`);
  return logins.map((login) => {
    const { id_token: id, access_token: access } = login.tokens;
    return { ...login, file, identity: loginIdentity({ id, access }, claim) };
  });
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function claimOf({ accounts }: Config, { account, like, identityClaim }: ImportOptions): NonNullable<OauthCredential['identity_claim']> {
  const model = accounts.find(({ id }) => id === (account ?? like));
  const own = model?.credential && 'oauth' in model.credential ? model.credential.oauth.identity_claim : undefined;
  return identityClaim ?? own ?? DEFAULT_CLAIM;
}

/** An id for an account: the name of its user, otherwise the name of its file. */
function newId({ tokens, file, identity }: FileLogin, taken: readonly string[]): string {
  const email = loginIdentity({ id: tokens.id_token, access: tokens.access_token }, 'email');
  const [name = 'account'] = (email ?? identity ?? file.split(/[\\/]/).at(-1) ?? '').replace(/\.json$/, '').split('@');
  const usable =
    name
      .toLowerCase()
      .replace(/[^a-z0-9_-]+/g, '-')
      .replace(/^[-_]+|-+$/g, '')
      .slice(0, 40) || 'account';
  for (let count = 1; ; count++) {
    const id = count === 1 ? usable : `${usable}-${count}`;
    if (!taken.includes(id)) return id;
  }
}

/** @throws {CommandFailure} if neither the options nor an account state the addresses of the login */
function newRow(
  id: string,
  { tokens }: FileLogin,
  { config: { accounts }, options: { like, ...options } }: Omit<Taking, 'login'>,
): NewAccountRow {
  if (like === undefined) {
    if (options.baseUrl !== undefined && options.tokenUrl !== undefined) return rowOf(id, options);
    throw new CommandFailure(
      'say which account the login is for: --account ID for one of the file, --like ID for another one like it, or --base-url, --token-url and --client-id',
      { exitCode: 2 },
    );
  }
  const model = accounts[indexIn(accounts, like, 'account')];
  const { file: _, scopes = [], identity_claim = DEFAULT_CLAIM, redirect_url = DEFAULT_REDIRECT, ...oauth } = requiredOauth(model, like);
  const login = {
    ...oauth,
    ...(scopes.length > 0 && { scopes }),
    ...(identity_claim !== DEFAULT_CLAIM && { identity_claim }),
    ...(redirect_url !== DEFAULT_REDIRECT && { redirect_url }),
  };
  const headers = Object.entries(model?.headers ?? {}).map(([name, value]) => [name, headerOf(name, value, tokens)]);
  return {
    id,
    base_url: model?.base_url ?? '',
    credential: { oauth: login },
    ...(headers.length > 0 && { headers: Object.fromEntries(headers) }),
  };
}

const DEFAULT_REDIRECT = 'http://127.0.0.1:0/callback';

/** The value of a header. A header with the id of the provider's account gets the id of this login. */
const headerOf = (name: string, value: string, { account_id }: FileLogin['tokens']): string =>
  account_id !== undefined && /account-id$/i.test(name) ? account_id : value;
