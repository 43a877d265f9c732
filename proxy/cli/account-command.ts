// `account list`: the accounts of the file.
import type { Command } from 'commander';
import type { AccountConfig } from '../turn/settings.ts';
import { addCommand, type CommonOptions, type Io, inspectValid, json, table } from './command.ts';

export function addAccountCommands(program: Command, io: Io): void {
  const account = program.command('account').description('list the upstream accounts');

  addCommand(account, {
    usage: 'list',
    description: 'list the accounts of the file, with their Pools',
    examples: ['poolgate account list', 'poolgate account list --json'],
  }).action(async ({ config: path, json: asJson }: CommonOptions) => {
    const { accounts, pools } = await inspectValid(path, io);
    const rows = accounts.map((row) => ({
      id: row.id,
      label: row.label,
      base_url: row.base_url,
      credential: credentialKind(row),
      visible: row.visible,
      max_concurrent: row.max_concurrent,
      pools: pools.filter((pool) => pool.assignments.some((assignment) => assignment.account === row.id)).map((pool) => pool.id),
    }));
    if (asJson) return io.out(json(rows));
    const cells = rows.map((row) => [
      row.id,
      row.base_url,
      row.credential,
      row.visible ? 'yes' : 'no',
      String(row.max_concurrent),
      row.pools.join(' ') || '-',
    ]);
    return io.out(table(['ACCOUNT', 'ADDRESS', 'CREDENTIAL', 'VISIBLE', 'CONCURRENT', 'POOLS'], cells));
  });
}

function credentialKind({ credential }: AccountConfig): 'none' | 'bearer' | 'oauth' {
  if (!credential) return 'none';
  return 'bearer' in credential ? 'bearer' : 'oauth';
}
