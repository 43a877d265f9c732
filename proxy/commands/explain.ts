// `explain METHOD PATH`: what a request meets, rule by rule.
import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { nearest } from '../config/nearest.ts';
import { RouteTable, worded } from '../routes.ts';
import { noteOf } from '../served.ts';
import { loadChains } from './chains.ts';
import { addCommand } from './command.ts';
import { inspectValid } from './file.ts';
import { CommandFailure, type Common, type Io, json } from './io.ts';

export function addExplain(program: Command, io: Io): void {
  addCommand(program, {
    usage: 'explain <method> <path>',
    description: 'show what a request meets: its route, and the rules in their order with their phases',
    examples: ['poolgate explain POST /v1/responses', 'poolgate explain WS /v1/responses', 'poolgate explain GET /v1/files/file-123'],
  }).action(async (method: string, path: string, { config: file, json: asJson }: Common) => {
    const config = await inspectValid(file, io);
    const route = routeOf(config, method.toUpperCase(), path);
    const rules = (await loadChains())(route.kind);
    const admission = config.admission[route.class];
    const note = noteOf(route);
    if (asJson) return io.out(json({ ...route, served: note === null, note, admission, rules }));
    const width = Math.max(0, ...rules.map(({ rule }) => rule.length));
    const lines = [
      `${route.method} ${route.template}`,
      `  status    ${route.status}`,
      `  served    ${note ?? 'yes'}`,
      `  family    ${route.family}`,
      `  kind      ${route.kind ?? '-'}`,
      `  class     ${route.class}: ${admission.running} running, ${admission.waiting} waiting up to ${admission.wait_ms} ms`,
      `  upstream  ${route.upstream}`,
      '  rules, in order, with the phases that each takes part in:',
      ...rules.map(({ rule, phases }) => `    ${rule.padEnd(width)}  ${phases.join(' ')}`),
    ];
    return io.out(`${lines.join('\n')}\n`);
  });
}

function routeOf(config: Config, method: string, written: string) {
  const routes = new RouteTable(config.routes, config.wire);
  const path = written.replace(/^https?:\/\/[^/]+/, '').replace(/[?#].*$/, '');
  // A template is matched as it stands, a path by the table; both in this deployment's words or in the neutral ones.
  const candidates = [path, worded(path, config.wire)];
  const template = routes.all.find((route) => route.method === method && candidates.includes(route.template));
  if (template) return template;
  const found = candidates.map((candidate) => routes.find(method, candidate)).find((match) => match !== undefined);
  if (found && 'route' in found) return found.route;
  if (found) throw new CommandFailure(`${path} has no ${method}: 405 method_not_allowed, with Allow: ${found.allow.join(', ')}`);
  const meant = nearest(path, [...new Set(routes.all.map((route) => route.template))]);
  throw new CommandFailure(
    `${path} is in no row of the route table: 404 unknown_endpoint${meant === undefined ? '' : `; did you mean ${meant}?`}`,
  );
}
