// `account add`: tries the address and the credential of an account, and adds it to the file and to a Pool.
import type { Command } from 'commander';
import { editText } from '../../config/file/edit.ts';
import { rewriteConfig } from '../../config/file/file-replacement.ts';
import { inspect, readConfig } from '../../config/loading/load.ts';
import { ConfigError, type Finding, isError } from '../../config/schema/finding.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import { addCommand, CommandFailure, type CommonOptions, type Io, inspectValid, json } from '../command.ts';
import { takenFile } from '../gateway/taken-file.ts';
import { poolNamed } from '../pool-named.ts';
import { accountChecks, type CheckedConfig } from './account-checks.ts';
import { accountEdits } from './account-edits.ts';
import { askedAccount } from './account-questions.ts';
import { firstWrong, stepText } from './account-test-text.ts';
import { type AccountOptions, addAccountOptions, type NewAccountRow, namesKind, rowOf, unsetVariables } from './new-account.ts';
import { writtenSecrets } from './typed-secrets.ts';

interface AddOptions extends CommonOptions, AccountOptions {
  readonly pool?: string;
  /** False with `--no-check`. */
  readonly check: boolean;
}

export function addAccountAdd(account: Command, io: Io): void {
  const command = addCommand(account, {
    usage: 'add <id>',
    description:
      'add an account to the file and to a Pool; asks for what the options leave out. Its address and its credential are tried first, and ' +
      'nothing changes if they fail',
    examples: [
      'poolgate account add work --preset openai --env OPENAI_API_KEY',
      'poolgate account add box --preset vllm --base-url http://10.0.0.7:8000/v1',
      'poolgate account add north --base-url https://provider.example --token-url https://auth.provider.example/token --client-id client-1 --device-url https://auth.provider.example/device',
    ],
  });
  addAccountOptions(command)
    .option('--pool <id>', 'the Pool that uses it; optional if the file has only one')
    .option('--no-check', 'add it without asking its provider')
    .action(async (id: string, options: AddOptions) => {
      const config = await inspectValid(options.config, io);
      if (config.accounts.some((known) => known.id === id)) throw new CommandFailure(`account '${id}' exists already`);
      const pool = poolNamed(config, options.pool);
      const asked = namesKind(options) ? { row: rowOf(id, options), secrets: [] } : await askedAccount(id, io);
      const written = await writtenSecrets(options.config, asked.secrets);
      try {
        const file = await withAccount(options.config, { row: asked.row, pool }, io);
        const checked = options.check ? await tried(file) : [];
        await rewriteConfig(options.config, (input) => accountEdits(input, { row: asked.row, pool }));
        written.keep();
        const oauth = typeof asked.row.credential === 'object' && 'oauth' in asked.row.credential;
        // A check has reported the variable already.
        const unset = options.check ? [] : unsetVariables([asked.row], io.env);
        const next = [
          ...(oauth ? [`next: poolgate account login ${id}`] : []),
          ...unset.map(({ name }) => `next: set ${name} where the gateway starts; it is not set here`),
        ];
        const lines = [`account '${id}' was added to ${options.config}, for Pool '${pool}'`, ...checked, ...next];
        io.out(options.json ? json({ id, pool, checked, login: oauth }) : `${lines.join('\n')}\n`);
        await takenFile(options.config, io);
      } finally {
        await written.discard();
      }
    });
}

export interface NewAssignment {
  readonly row: NewAccountRow;
  readonly pool: string;
}

/** The file as it would be with an account, and its secrets. */
interface FileWithAccount {
  readonly account: AccountConfig;
  readonly loaded: CheckedConfig;
  readonly findings: readonly Finding[];
}

/** @throws {CommandFailure} if the file would be invalid, for example because the file of the secret is missing */
async function withAccount(path: string, added: NewAssignment, io: Io): Promise<FileWithAccount> {
  const text = await readConfig(path);
  const before = await inspect(text, { path, secrets: false });
  if (!before.config) throw new ConfigError(before.findings.filter(isError));
  const edits = accountEdits({ config: before.config, content: undefined }, added);
  const { config, findings, ...resolved } = await inspect(edits.reduce(editText, text), { path, env: io.env, strictEnv: false });
  if (!config)
    throw new CommandFailure('the file is unchanged; with this account it would be invalid:', { findings: findings.filter(isError) });
  const account = config.accounts.find(({ id }) => id === added.row.id);
  if (!account) throw new CommandFailure('the account cannot be added');
  return { account, loaded: { config, ...resolved }, findings };
}

/**
 * Tries the account as the gateway would: first its address, then its list of models with its credential.
 * @returns the results
 * @throws {CommandFailure} with what is wrong
 */
async function tried({ account, loaded, findings }: FileWithAccount): Promise<readonly string[]> {
  const found = await accountChecks(account, loaded);
  // The variable may be set only in the environment of the gateway, and a login can only be made after the account exists.
  const isUnset = found.steps.some(({ failure }) => failure?.class === 'unset');
  const wrong = isUnset ? undefined : firstWrong(account, found, { isNew: true });
  if (wrong !== undefined) throw failed(wrong);
  if (isUnset)
    return findings
      .filter(({ message }) => message.includes('environment variable'))
      .map(({ message }) => `${message}: set it where the gateway starts`);
  return found.steps.flatMap(stepText);
}

const failed = (why: string): CommandFailure => new CommandFailure(`nothing changed: ${why}\n--no-check adds the account all the same.`);
