// `init`: writes a file that can serve, with accounts, a Pool and a first key, and prints the settings of a client.
import { access, open } from 'node:fs/promises';
import type { Command } from 'commander';
import { codeOf, makeFolderOf, writeFaultOf } from '../../../store/folder.ts';
import { makeSecret } from '../../config/file/edits/new-secret.ts';
import { inspect } from '../../config/loading/load.ts';
import { formatFinding, isError } from '../../config/schema/finding.ts';
import { CLIENTS, type ClientSettings, KEY_VARIABLE } from '../../pages/client-settings.ts';
import type { WireWords } from '../../turn/settings.ts';
import { type AskedAccount, answerTo, askedAccount, askedKind } from '../accounts/account-questions.ts';
import { type AccountOptions, addAccountOptions, namesKind, rowOf, unsetVariables } from '../accounts/new-account.ts';
import { writtenSecrets } from '../accounts/typed-secrets.ts';
import { clientNamed } from '../client-named.ts';
import { addCommand, CommandFailure, type CommonOptions, type Io, json } from '../command.ts';
import { newFile, POOL } from './init-file.ts';
import { type Started, startText } from './init-text.ts';

interface InitOptions extends CommonOptions, AccountOptions {
  readonly yes?: boolean;
  readonly force?: boolean;
  readonly id?: string;
  readonly key: string;
  readonly client?: string;
  readonly port: string;
}

/** The words of Codex's own provider. Its client uses them too. */
const CODEX_WIRE: Partial<WireWords> = { agent: 'codex', meter: 'wham', lite_marker: 'x-openai-internal-codex-responses-lite' };

export function addInit(program: Command, io: Io): void {
  const command = addCommand(program, {
    usage: 'init',
    description: 'write a configuration file with accounts, a Pool and a first key; asks for what the options leave out',
    examples: [
      'poolgate init                                    (asks)',
      'poolgate init --yes                              (simulated accounts, no questions)',
      'poolgate init --preset openai --env OPENAI_API_KEY --client codex',
    ],
  });
  addAccountOptions(command)
    .option('-y, --yes', 'ask nothing: simulated accounts unless the options say otherwise')
    .option('--force', 'replace an existing file')
    .option('--id <id>', 'the id of the account')
    .option('--key <id>', 'the id of the first key', 'me')
    .option('--client <name>', 'print the settings of this client: `poolgate client` lists them')
    .option('--port <port>', 'the port for clients; the admin listener takes the next one', '4000')
    .action(async (options: InitOptions) => {
      const port = portOf(options.port);
      await refuseExisting(options);
      const named = options.client === undefined ? undefined : clientNamed(options.client);
      const accounts = await accountsOf(options, io);
      const client = named ?? (await askedClient(options, io));
      const { secret, sha256 } = makeSecret('pg-');
      const wire = client?.name === 'codex' ? { wire: CODEX_WIRE } : {};
      const rows = accounts.map(({ row }) => row);
      const text = newFile({ accounts: rows, port, key: { id: options.key, sha256 }, ...wire });
      const written = await writtenSecrets(
        options.config,
        accounts.flatMap(({ secrets }) => secrets),
      );
      try {
        const unset = unsetVariables(rows, io.env);
        // The next steps name them, so that the file is checked as if they were set.
        const env = { ...io.env, ...Object.fromEntries(unset.map(({ name }) => [name, 'set-later'])) };
        const { findings } = await inspect(text, { path: options.config, env, strictEnv: false });
        const errors = findings.filter(isError);
        if (errors.length > 0) throw new CommandFailure('nothing was written; the file would have errors:', { findings: errors });
        await save(options.config, text, { replace: options.force === true });
        written.keep();
        const logins = rows.flatMap(({ id, credential }) => (typeof credential === 'object' && 'oauth' in credential ? [String(id)] : []));
        const started: Started = {
          path: options.config,
          port,
          rows,
          key: options.key,
          secret,
          client,
          logins,
          unset,
          notes: findings.map(formatFinding),
        };
        if (!options.json) return io.out(startText(started, CODEX_WIRE.agent ?? ''));
        io.out(
          json({
            config: options.config,
            accounts: rows.map(({ id }) => id),
            pool: POOL,
            key: options.key,
            secret,
            key_variable: KEY_VARIABLE,
            logins,
          }),
        );
      } finally {
        await written.discard();
      }
    });
}

async function accountsOf(options: InitOptions, io: Io): Promise<readonly AskedAccount[]> {
  if (namesKind(options) && options.simulated === undefined) {
    return [{ row: rowOf(options.id ?? options.preset ?? 'first', options), secrets: [] }];
  }
  if (options.simulated !== undefined || options.yes) return SIMULATED;
  const accounts: AskedAccount[] = [];
  for (;;) {
    const kind = await askedKind(io);
    if (kind === 'simulated' && accounts.length === 0) return SIMULATED;
    const ids = accounts.map(({ row }) => row.id);
    const usual = kind === 'login' || kind === 'token' ? 'north' : kind;
    const suggested = ids.includes(usual) ? `${usual}-${ids.length + 1}` : usual;
    const id = (await answerTo(`Its name in the file [${suggested}]: `, io)) || suggested;
    if (ids.includes(id)) {
      io.err(`There is an account '${id}' already.\n`);
      continue;
    }
    if (!ID.test(id)) {
      io.err(`'${id}' is no name: it has letters, digits, dots, dashes and underscores.\n`);
      continue;
    }
    accounts.push(await askedAccount(id, io, kind));
    if (!/^y(?:es)?$/i.test(await answerTo('Another account? [y/N] ', io))) return accounts;
  }
}

/** The form of an id in the schema. */
const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** The simulated accounts, as in the shipped file: one that always answers, and one that sometimes fails. */
const SIMULATED: readonly AskedAccount[] = [
  { row: rowOf('north', { simulated: true }), secrets: [] },
  { row: rowOf('south', { simulated: 'flaky' }), secrets: [] },
];

async function askedClient({ yes, client, ...options }: InitOptions, io: Io): Promise<ClientSettings | undefined> {
  if (yes || namesKind(options) || !io.input.isTerminal) return undefined;
  io.err(`Which client will use it?\n  ${CLIENTS.map(({ name }) => name).join(', ')}\n`);
  for (;;) {
    const answer = await answerTo('Name (empty: none of them): ', io);
    if (answer === '') return undefined;
    const known = CLIENTS.find(({ name }) => name === answer);
    if (known) return known;
    io.err(`There is no client '${answer}'.\n`);
  }
}

function portOf(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_535) return port;
  throw new CommandFailure(`--port ${text}: must be a whole number from 1 to 65534`, { exitCode: 2 });
}

async function refuseExisting({ config, force }: InitOptions): Promise<void> {
  if (force) return;
  const exists = await access(config).then(
    () => true,
    () => false,
  );
  if (exists)
    throw new CommandFailure(`${config} exists already, and is left alone; --force replaces it, and \`poolgate account add\` adds to it`);
}

/** Creates the file, and its folder if it is missing. The file contains addresses of accounts and hashes, but no secret. */
async function save(path: string, text: string, { replace }: { readonly replace: boolean }): Promise<void> {
  try {
    await makeFolderOf(path);
  } catch (thrown) {
    throw new CommandFailure(`${path} cannot be written: ${writeFaultOf(thrown)}`);
  }
  try {
    const file = await open(path, replace ? 'w' : 'wx', 0o600);
    await file.writeFile(text);
    await file.close();
  } catch (thrown) {
    if (codeOf(thrown) === 'EEXIST') throw new CommandFailure(`${path} exists already, and is left alone; --force replaces it`);
    throw new CommandFailure(`${path} cannot be written: ${writeFaultOf(thrown)}`);
  }
}
