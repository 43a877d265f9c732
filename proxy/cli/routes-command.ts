// `routes`: the route table as clients see it.
import type { Command } from 'commander';
import { RouteTable } from '../turn/route-table.ts';
import { noteOf, servedOf } from '../turn/served.ts';
import { addCommand } from './command.ts';
import { inspectValid } from './config-file.ts';
import { type Common, type Io, json, table } from './output.ts';
import { loadChains } from './route-rules.ts';

export function addRoutes(program: Command, io: Io): void {
  addCommand(program, {
    usage: 'routes',
    description: 'list every route with its status, whether this version serves it, and the rules that take part in it',
    examples: ['poolgate routes', "poolgate routes --json | jq '.[] | select(.served | not)'"],
  }).action(async ({ config: path, json: asJson }: Common) => {
    const config = await inspectValid(path, io);
    const rulesOf = await loadChains();
    const rows = new RouteTable(config.routes, config.wire).all.map((route) => ({
      method: route.method,
      path: route.template,
      status: route.status,
      served: servedOf(route),
      note: noteOf(route),
      family: route.family,
      class: route.class,
      kind: route.kind ?? null,
      rules: rulesOf(route.kind).map(({ rule }) => rule),
    }));
    if (asJson) return io.out(json(rows.map((row) => ({ ...row, served: row.served === 'yes' }))));
    const cells = rows.map(({ method, path, status, served, family, class: admission, kind, rules }) => {
      return [method, path, status, served, family, admission, kind ?? '-', rules.join(' ')];
    });
    return io.out(table(['METHOD', 'PATH', 'STATUS', 'SERVED', 'FAMILY', 'CLASS', 'KIND', 'RULES'], cells));
  });
}
