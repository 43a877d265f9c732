// `check`: prints all errors and warnings of a file. It asks a running gateway only for the models that aliases name (AM20).
import type { Command } from 'commander';
import type { Config } from '../../config/config.ts';
import { inspect, readConfig } from '../../config/loading/load.ts';
import { type Finding, formatFinding, isError } from '../../config/schema/finding.ts';
import type { PoolConfig } from '../../turn/settings.ts';
import { addCommand, CommandFailure, type CommonOptions, counted, type Io, json } from '../command.ts';
import { adminOf } from '../gateway/address.ts';
import { fetchExposed } from '../gateway/calls.ts';

interface CheckOptions extends CommonOptions {
  readonly strict?: boolean;
}

export function addCheck(program: Command, io: Io): void {
  addCommand(program, {
    usage: 'check',
    description: 'list all errors and warnings of a file with line and column; exit code 1 if there is an error',
    examples: ['poolgate check', 'poolgate check --strict --config /etc/poolgate.yaml'],
  })
    .option('--strict', 'an unset environment variable is an error, as in serve')
    .action(async ({ config: path, strict = false, json: asJson }: CheckOptions) => {
      const text = await readConfig(path);
      const options = { path, env: io.env, strictEnv: strict };
      const alone = await inspect(text, options);
      const exposed = alone.config?.pools.some(hasAliases) ? await fetchExposed(adminOf(alone.config, io, path)) : undefined;
      const { config, findings } = exposed ? await inspect(text, { ...options, exposed }) : alone;
      if (asJson) io.out(json({ ok: config !== undefined, findings }));
      else io.out([...findings.map(formatFinding), summary(path, findings, config)].join('\n').concat('\n'));
      if (!config) throw new CommandFailure('');
    });
}

const hasAliases = ({ aliases = {} }: PoolConfig): boolean => Object.keys(aliases).length > 0;

function summary(path: string, findings: readonly Finding[], config: Config | undefined): string {
  const errors = findings.filter(isError).length;
  const found = [counted(errors, 'error'), counted(findings.length - errors, 'warning')].filter((text) => !text.startsWith('0')).join(', ');
  if (!config) return `${path}: ${found}`;
  const { accounts, pools, keys, operators, routes } = config;
  const contents = [
    counted(accounts.length, 'account'),
    counted(pools.length, 'Pool'),
    counted(keys.length, 'key'),
    counted(operators.length, 'operator'),
    counted(routes.length, 'route'),
  ];
  return `${path}: ${found || 'no findings'} (${contents.join(', ')})`;
}
