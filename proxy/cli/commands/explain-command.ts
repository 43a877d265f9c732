// `explain METHOD PATH [--key ID] [--model ID] [--body FILE]`: what happens to a request, rule by rule; `explain --turn ID`: what happened to a turn.
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { Config } from '../../config/config.ts';
import { versionOf } from '../../config/config-diff.ts';
import { indexIn } from '../../config/file/edits/invalid-edit.ts';
import { nearest } from '../../config/schema/suggestion.ts';
import { type ExplainedTurn, explainTurns, type Question } from '../../explain/explanation.ts';
import { explainedProviders } from '../../providers/providers.ts';
import { type JsonObject, parsedObject } from '../../turn/json/json.ts';
import { dispatchedKind } from '../../turn/routes/kinds.ts';
import { noteOf, RouteTable, worded } from '../../turn/routes/route-table.ts';
import type { Route } from '../../turn/turn.ts';
import { addCommand, CommandFailure, type CommonOptions, type Io, inspectValid, json } from '../command.ts';
import { adminIn, adminOf } from '../gateway/address.ts';
import { fetchTurn } from '../gateway/calls.ts';
import { fetchExplained } from '../gateway/explain-call.ts';
import { loggedLines, ruleLines, turnLines } from '../text/explanation-text.ts';
import { loadChains, loadRules } from './routes-command.ts';

interface Options extends CommonOptions, Pick<Question, 'key' | 'model'> {
  readonly body?: string | undefined;
  readonly session?: string | undefined;
  readonly turn?: string;
}

export function addExplain(program: Command, io: Io): void {
  addCommand(program, {
    usage: 'explain [method] [path]',
    description:
      'show what happens to a request: its route, and its rules in order with their phases; for a key and a model also accounts and reasons',
    examples: [
      'poolgate explain POST /v1/responses',
      'poolgate explain POST /v1/responses --key ci --model model-a',
      'poolgate explain POST /v1/responses --key ci --body turn.json',
      'poolgate explain WS /v1/responses',
      'poolgate explain GET /v1/files/file-123',
      'poolgate explain --turn req_01a1f87151d8a5fdde4629dfddfcd1ff',
    ],
  })
    .option('--key <id>', 'for this Pool API key: its Pool and policies')
    .option('--model <id>', 'for this exposed model id: its serving mode and accounts')
    .option('--body <file>', 'for this request: what each account lacks for it, and what would be adapted; nothing is sent')
    .option('--session <id>', 'for this value of a continuity header: the account of the session; with --key')
    .option(
      '--turn <id>',
      "a turn of the request log: the reason for its account, and the answer of each account; the id is the answer's x-request-id",
    )
    .action(
      async (
        method: string | undefined,
        path: string | undefined,
        { config: file, json: asJson, key, model, session, body: bodyFile, turn: id }: Options,
      ) => {
        if (id !== undefined) {
          const logged = await fetchTurn(await adminIn(file, io), id);
          return io.out(asJson ? json(logged) : `${loggedLines(logged).join('\n')}\n`);
        }
        const config = await inspectValid(file, io);
        if (method === undefined || path === undefined)
          throw new CommandFailure('explain takes METHOD and PATH, or --turn ID', { exitCode: 2 });
        const route = routeOf(config, method.toUpperCase(), path);
        const rules = (await loadChains())(route.kind);
        const body = bodyFile === undefined ? undefined : await bodyIn(bodyFile);
        const isNamed = key !== undefined || model !== undefined || body !== undefined;
        const explained = isNamed ? await explain(config, io, route, { key, model, session, body, file }) : undefined;
        const admission = config.admission[route.class];
        const note = noteOf(route);
        if (asJson) return io.out(json({ ...route, served: note === null, note, admission, rules, ...explained }));
        const lines = [
          `${route.method} ${route.template}`,
          `  status    ${route.status}`,
          `  served    ${note ?? 'yes'}`,
          `  family    ${route.family}`,
          `  kind      ${kindText(route)}`,
          `  class     ${route.class}: ${admission.running} running, ${admission.waiting} waiting up to ${admission.wait_ms} ms`,
          `  upstream  ${dispatchedKind(route.kind) ? route.upstream : 'none: no account is asked'}`,
          ...(explained ? [`  known     ${explained.known}`] : []),
          ...(explained?.turns ?? [undefined]).flatMap((turn) => [...turnLines(turn), ...ruleLines(rules, turn)]),
        ];
        return io.out(`${lines.join('\n')}\n`);
      },
    );
}

/** The kind of the row, and the kind to which its turns change if their body asks for other work. */
function kindText({ kind }: Route): string {
  const compaction = dispatchedKind(kind)?.asCompaction;
  return `${kind ?? '-'}${compaction === undefined ? '' : `; ${compaction} where the input has a compaction_trigger`}`;
}

interface Explanation {
  /** The source of the facts: the running gateway, or only the file, with the reason. */
  readonly known: string;
  readonly turns: readonly ExplainedTurn[];
}

async function explain(
  config: Config,
  io: Io,
  route: Route,
  { session, file, ...question }: Omit<Question, 'session'> & Pick<Options, 'session'> & { readonly file: string },
): Promise<Explanation> {
  if (question.key !== undefined) indexIn(config.keys, question.key, 'key');
  const known = { rules: await loadRules(), providerOf: await explainedProviders(config.accounts), now: Date.now() };
  const turns = (await explainTurns(config, route, question, known)) ?? [];
  const reply = await fetchExplained(adminOf(config, io, file), route, { ...question, session });
  if ('refused' in reply) throw new CommandFailure(reply.refused, { exitCode: 2 });
  if ('unavailable' in reply) return { known: `from the file alone: ${reply.unavailable}`, turns };
  const same = reply.version === versionOf(config);
  const which = same ? 'which runs on this file' : 'whose configuration is not this file: see poolgate diff';
  return { known: `by the running gateway, ${which}`, turns: reply.turns };
}

async function bodyIn(file: string): Promise<JsonObject> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch {
    throw new CommandFailure(`${file} cannot be read`, { exitCode: 2 });
  }
  const body = parsedObject(text);
  if (!body) throw new CommandFailure(`${file} is no JSON object: --body takes the body of a request`, { exitCode: 2 });
  return body;
}

function routeOf(config: Config, method: string, written: string): Route {
  const routes = new RouteTable(config.routes, config.wire);
  const path = written.replace(/^https?:\/\/[^/]+/, '').replace(/[?#].*$/, '');
  // Templates are compared literally, while paths are matched. Both may have the words of `wire` or neutral words.
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
