// `routes`: prints the route table of the file, with the rules of each route.
import type { Command } from 'commander';
import type { RouteKind } from '../../turn/routes/kinds.ts';
import { isServed, noteOf, RouteTable } from '../../turn/routes/route-table.ts';
import type { Rule } from '../../turn/rules/rule.ts';
import { addCommand, type CommonOptions, type Io, inspectValid, json, table } from '../command.ts';

export function addRoutes(program: Command, io: Io): void {
  addCommand(program, {
    usage: 'routes',
    description: 'list every route with its status, whether it is served, and its rules',
    examples: ['poolgate routes', "poolgate routes --json | jq '.[] | select(.served | not)'"],
  }).action(async ({ config: path, json: asJson }: CommonOptions) => {
    const config = await inspectValid(path, io);
    const rulesOf = await loadChains();
    const rows = new RouteTable(config.routes, config.wire).all.map((route) => ({
      method: route.method,
      path: route.template,
      status: route.status,
      served: isServed(route),
      note: noteOf(route),
      family: route.family,
      class: route.class,
      kind: route.kind ?? null,
      rules: rulesOf(route.kind).map(({ rule }) => rule),
    }));
    if (asJson) return io.out(json(rows));
    const cells = rows.map(({ method, path, status, served, family, class: admission, kind, rules }) => {
      return [method, path, status, served ? 'yes' : 'no', family, admission, kind ?? '-', rules.join(' ')];
    });
    return io.out(table(['METHOD', 'PATH', 'STATUS', 'SERVED', 'FAMILY', 'CLASS', 'KIND', 'RULES'], cells));
  });
}

export interface ChainedRule {
  readonly rule: string;
  readonly phases: readonly string[];
}

/** Returns the rules of a route kind. */
export async function loadChains(): Promise<(kind: RouteKind | undefined) => readonly ChainedRule[]> {
  const [{ describeChain }, rules] = await Promise.all([import('../../turn/rules/rule-chain.ts'), loadRules()]);
  return (kind) => describeChain(rules, kind);
}

/** Loads the rules only if a command needs them, because they load half of the gateway's modules. */
export const loadRules = async (): Promise<readonly Rule[]> => (await import('../../../rules/index.ts')).RULES;
