// `account`: lists, pauses, resumes, restores and logs in again the upstream accounts.
import type { Command } from 'commander';
import type { AccountActionReply } from '../../admin/replies/account-replies.ts';
import { indexIn } from '../../config/file/edits/invalid-edit.ts';
import { addAccountAdd } from '../accounts/add-command.ts';
import { addAccountImport } from '../accounts/import-command.ts';
import { addAccountLogin } from '../accounts/login-command.ts';
import { addAccountTest } from '../accounts/test-command.ts';
import { addCommand, type CommonOptions, type Io, inspectValid, json, table } from '../command.ts';
import { orderEdit } from '../edits/ordered-edit.ts';
import { requestAccountAction } from '../gateway/account-calls.ts';
import { adminOf } from '../gateway/address.ts';
import { listedAccounts } from '../gateway/list-calls.ts';

export function addAccountCommands(program: Command, io: Io): void {
  const account = program.command('account').description('add, log in, test, list, pause, resume and restore the upstream accounts');
  addAccountAdd(account, io);
  addAccountImport(account, io);
  addAccountLogin(account, io);
  addAccountTest(account, io);

  addCommand(account, {
    usage: 'list',
    description: 'list the accounts of the running gateway, else of the file, with their Pools',
    examples: ['poolgate account list', 'poolgate account list --json'],
  }).action(async (options: CommonOptions) => {
    const rows = await listedAccounts(options, io);
    if (options.json) return io.out(json(rows));
    const cells = rows.map((row) => [
      row.id,
      row.base_url ?? '-',
      row.credential,
      row.visible ? 'yes' : 'no',
      row.paused ? 'yes' : 'no',
      String(row.max_concurrent),
      row.pools.join(' ') || '-',
    ]);
    return io.out(table(['ACCOUNT', 'ADDRESS', 'CREDENTIAL', 'VISIBLE', 'PAUSED', 'CONCURRENT', 'POOLS'], cells));
  });

  for (const [verb, paused, description] of PAUSES) {
    addCommand(account, { usage: `${verb} <id>`, description, examples: [`poolgate account ${verb} north`] }).action(
      async (id: string, options: CommonOptions) => {
        // Throws for an unknown id, with the nearest id of the file.
        indexIn((await inspectValid(options.config, io)).accounts, id, 'account');
        const { changed, alone } = await orderEdit({ do: 'account.pause', id, paused }, options, io);
        if (options.json) return io.out(json({ id, paused, changed, running: alone === undefined }));
        const state = `account '${id}' is ${changed ? '' : 'already '}${paused ? 'paused' : 'in use'}`;
        return io.out(`${state}${alone === undefined ? '' : ` in the file; ${alone}`}\n`);
      },
    );
  }

  for (const [action, description] of ACTIONS) {
    addCommand(account, { usage: `${action} <id>`, description, examples: [`poolgate account ${action} north`] }).action(
      async (id: string, { config: path, json: asJson }: CommonOptions) => {
        const config = await inspectValid(path, io);
        indexIn(config.accounts, id, 'account');
        const reply = await requestAccountAction(adminOf(config, io, path), action, id);
        return io.out(asJson ? json(reply) : `${(action === 'restore' ? restoreLines : reloginLines)(reply).join('\n')}\n`);
      },
    );
  }
}

const PAUSES = [
  ['pause', true, 'send no further turns to an account, in any Pool; running turns end'],
  ['resume', false, 'send turns to a paused account again'],
] as const;

const ACTIONS = [
  ['restore', 'end the cooldowns of an account and of its models, so that it gets turns at once'],
  ['relogin', 'read the credential of an account again, after another login, and use it'],
] as const;

function restoreLines({ account, fields }: AccountActionReply): readonly string[] {
  return fields.length === 0 ? [`account '${account}' has no cooldown and is not failing`] : changeLines(fields);
}

function reloginLines({ account, credential, fields }: AccountActionReply): readonly string[] {
  return [RELOGINS[credential ?? 'none'](account), ...changeLines(fields)];
}

const RELOGINS = {
  imported: (id: string) => `account '${id}' now uses the new login from its file`,
  unchanged: (id: string) => `the login of account '${id}' has not changed: the next turn tries it again`,
  none: (id: string) => `account '${id}' has no credential; if its provider demands one, add it to the file`,
} as const;

const changeLines = (fields: AccountActionReply['fields']): readonly string[] =>
  fields.filter(({ from, to }) => from !== to).map(({ path, from, to }) => `${path}: ${from ?? 'none'} -> ${to ?? 'none'}`);
