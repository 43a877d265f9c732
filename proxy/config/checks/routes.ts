// Checks the route table: each method and path has one row, and its kind serves this method.
import { KINDS, type RouteKind } from '../../turn/routes/kinds.ts';
import type { Path, Problem } from '../schema/finding.ts';
import { type Mapping, mapping, rowsOf, text } from './config-rows.ts';

export const METHODS = ['GET', 'POST', 'DELETE', 'OPTIONS', 'WS'] as const;

type Method = (typeof METHODS)[number];

const BY_FILE_ID: ReadonlySet<string> = new Set(['file-finish', 'file-read', 'file-denied']);

/** Paths that are never served, whatever the status of the row: realtime (E2) and reset credits (B3). */
const NEVER_SERVED = /^\/v1\/realtime(?:\/|$)|\/account\/rateLimitResetCredit(?:\/|$)/;

export function checkRoutes(data: unknown): readonly Problem[] {
  const rows = rowsOf(data, 'routes').flatMap(({ path, row }) => {
    const method = METHODS.find((name) => typeof row[name] === 'string');
    return method === undefined ? [] : [{ path, row, method, template: row[method] as string }];
  });
  return [...rows.flatMap((row) => [...rowProblems(row)]), ...collisions(rows, wordsOf(data)), ...lostTable(rows)];
}

interface RouteRow {
  readonly path: Path;
  readonly row: Mapping;
  readonly method: Method;
  readonly template: string;
}

/** The only paths of kinds for Messages clients (AM1). */
const OWN_PATHS: Readonly<Record<string, string>> = {
  messages: '/v1/messages',
  'count-tokens': '/v1/messages/count_tokens',
  model: '/v1/models/{model_id}',
  embeddings: '/v1/embeddings',
};

/** The page for holders of keys, and its files. */
const USAGE_PAGE: ReadonlySet<string> = new Set(['/usage', '/usage/{}']);

/** The path without the names of its parameters. */
const shapeOf = (template: string): string => template.replace(/\{[^}]*\}/g, '{}');

function* rowProblems({ path, row, method, template }: RouteRow): Generator<Problem> {
  const serve = text(row.serve);
  const unfilled = parametersOf(text(row.to) ?? '').find((name) => !parametersOf(template).includes(name));
  if (unfilled !== undefined) yield { path: [...path, 'to'], message: `{${unfilled}} is not a parameter of this row's path` };
  const served = row.status !== 'unsupported';
  if (served && row.serve === undefined && row.status !== undefined) {
    yield { path, at: 'first-key', message: "'serve' is missing; only unsupported rows need none" };
  }
  if (served && NEVER_SERVED.test(template))
    yield { path: [...path, 'status'], message: 'this path cannot be served: its status must be unsupported' };
  if (serve === undefined || !Object.hasOwn(KINDS, serve)) return;
  const methods: readonly string[] = KINDS[serve as RouteKind].methods;
  if (!methods.includes(method)) yield { path: [...path, 'serve'], message: `'${serve}' serves ${methods.join(' and ')}, not ${method}` };
  // /mcp accepts operator tokens (AU2), so another kind on this path would be served without a key.
  if ((serve === 'mcp') !== (template === '/mcp') && served)
    yield { path: [...path, 'serve'], message: "'mcp' and the path /mcp belong together" };
  const own = OWN_PATHS[serve];
  if (own !== undefined && shapeOf(template) !== shapeOf(own)) yield { path: [...path, method], message: `'${serve}' serves ${own} alone` };
  // The page refers to its files by these paths.
  if (serve === 'usage-page' && !USAGE_PAGE.has(shapeOf(template)))
    yield { path: [...path, method], message: "'usage-page' serves /usage and /usage/{file} alone" };
  // A kind for JSON would refuse the forms that clients send.
  if (serve === 'public-image' && template === '/v1/images/edits')
    yield { path: [...path, 'serve'], message: "'public-image-edit' serves /v1/images/edits, which takes a form", severity: 'warning' };
  if (BY_FILE_ID.has(serve) && !template.includes('{file_id}'))
    yield { path: [...path, method], message: `'${serve}' needs {file_id} in its path` };
  if (method === 'WS' && served && row.class !== 'websocket')
    yield { path: [...path, 'class'], message: 'a WS row belongs to class websocket' };
}

/** Warns of a list that lacks the rest of the table, because it was written to change or add a row. */
function* lostTable(rows: readonly RouteRow[]): Generator<Problem> {
  const kinds = rows.map(({ row }) => text(row.serve) ?? '');
  if (rows.length === 0 || kinds.some((kind) => Object.hasOwn(KINDS, kind) && KINDS[kind as RouteKind].served === 'dispatch')) return;
  const message =
    'no row is for turns: this list replaces the whole route table; copy the rows of the shipped config.yaml, and change them';
  yield { path: ['routes'], at: 'key', message, severity: 'warning' };
}

const parametersOf = (path: string): readonly string[] => [...path.matchAll(/\{([^}]*)\}/g)].map((found) => found[1] ?? '');

/** Reports two rows with the same method and path, as written or with the words of `wire`. */
function* collisions(rows: readonly RouteRow[], words: Readonly<Record<string, string>>): Generator<Problem> {
  const written = new Set<string>();
  const worded = new Set<string>();
  for (const { path, method, template } of rows) {
    const shape = `${method} ${shapeOf(template)}`;
    const onTheWire = shape
      .split('/')
      .map((segment) => words[segment] ?? segment)
      .join('/');
    if (written.has(shape)) yield { path: [...path, method], message: `the route table has ${method} of this path twice` };
    else if (worded.has(onTheWire))
      yield { path: ['wire'], message: 'with these words two rows of the route table have the same path: choose others' };
    written.add(shape);
    worded.add(onTheWire);
  }
}

function wordsOf(data: unknown): Readonly<Record<string, string>> {
  const { agent, meter } = mapping(mapping(data).wire);
  return Object.assign(Object.create(null), { agent: text(agent) ?? 'agent', meter: text(meter) ?? 'meter' });
}
