// `check`: every mistake of a file at once, offline.
import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { type Finding, formatFinding, isError } from '../config/finding.ts';
import { inspect, readConfig } from '../config/load.ts';
import { servedOf } from '../turn/served.ts';
import { addCommand } from './command.ts';
import { CommandFailure, type Common, type Io, json } from './output.ts';

interface CheckOptions extends Common {
  readonly strict?: boolean;
}

export function addCheck(program: Command, io: Io): void {
  addCommand(program, {
    usage: 'check',
    description: 'find every mistake of a file, with its line and column; exit code 1 if there is one',
    examples: ['poolgate check', 'poolgate check --strict --config /etc/poolgate.yaml'],
  })
    .option('--strict', 'an unset environment variable is an error, as when serving')
    .action(async ({ config: path, strict = false, json: asJson }: CheckOptions) => {
      const { config, findings } = await inspect(await readConfig(path), { path, env: io.env, strictEnv: strict });
      if (asJson) io.out(json({ ok: config !== undefined, findings }));
      else io.out([...findings.map(formatFinding), summary(path, findings, config)].join('\n').concat('\n'));
      if (!config) throw new CommandFailure('');
    });
}

function summary(path: string, findings: readonly Finding[], config: Config | undefined): string {
  const errors = findings.filter(isError).length;
  const found = [counted(errors, 'error'), counted(findings.length - errors, 'warning')].filter((text) => !text.startsWith('0')).join(', ');
  if (!config) return `${path}: ${found}`;
  const { accounts, pools, keys, operators, routes } = config;
  const unserved = routes.filter(({ serve, ...row }) => servedOf({ ...row, kind: serve }) === 'not yet').length;
  const holds = [
    counted(accounts.length, 'account'),
    counted(pools.length, 'Pool'),
    counted(keys.length, 'key'),
    counted(operators.length, 'operator'),
    `${counted(routes.length, 'route')}${unserved > 0 ? `, ${unserved} of them not served by this version` : ''}`,
  ];
  return `${path}: ${found || 'no findings'} (${holds.join(', ')})`;
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
