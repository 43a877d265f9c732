// `routes`: the route table as clients see it.
import type { Command } from 'commander';
import { RouteTable } from '../routes.ts';
import { loadChains } from './chains.ts';
import { addCommand } from './command.ts';
import { inspectValid } from './file.ts';
import { type Common, type Io, json, table } from './io.ts';

export function addRoutes(program: Command, io: Io): void {
  addCommand(program, {
    usage: 'routes',
    description: 'list every route with its status, and the rules that take part in it',
    examples: ['poolgate routes', 'poolgate routes --json | jq \'.[] | select(.status == "unsupported")\''],
  }).action(async ({ config: path, json: asJson }: Common) => {
    const config = await inspectValid(path, io);
    const rulesOf = await loadChains();
    const rows = new RouteTable(config.routes, config.wire).all.map((route) => ({
      method: route.method,
      path: route.template,
      status: route.status,
      family: route.family,
      class: route.class,
      kind: route.kind ?? null,
      rules: rulesOf(route.kind).map(({ rule }) => rule),
    }));
    if (asJson) return io.out(json(rows));
    const cells = rows.map((row) => [row.method, row.path, row.status, row.family, row.class, row.kind ?? '-', row.rules.join(' ')]);
    return io.out(table(['METHOD', 'PATH', 'STATUS', 'FAMILY', 'CLASS', 'KIND', 'RULES'], cells));
  });
}
