// Rows of the route table: one per method and path, served by something that can serve them.
import { KINDS, type RouteKind } from '../../turn/kinds.ts';
import type { Path, Problem } from '../finding.ts';
import { type Mapping, mapping, rowsOf, text } from './rows.ts';

export const METHODS = ['GET', 'POST', 'DELETE', 'OPTIONS', 'WS'] as const;

type Method = (typeof METHODS)[number];

const BY_FILE_ID: ReadonlySet<string> = new Set(['file-finish', 'file-read', 'file-denied']);

/** Outside the surface whatever an operator writes: realtime (E2) and reset credits (B3). */
const OUTSIDE = /^\/v1\/realtime(?:\/|$)|\/account\/rateLimitResetCredit(?:\/|$)/;

export function checkRoutes(data: unknown): readonly Problem[] {
  const rows = rowsOf(data, 'routes').flatMap(({ path, row }) => {
    const method = METHODS.find((name) => typeof row[name] === 'string');
    return method === undefined ? [] : [{ path, row, method, template: row[method] as string }];
  });
  return [...rows.flatMap((row) => [...rowProblems(row)]), ...collisions(rows, wordsOf(data))];
}

interface RouteRow {
  readonly path: Path;
  readonly row: Mapping;
  readonly method: Method;
  readonly template: string;
}

function* rowProblems({ path, row, method, template }: RouteRow): Generator<Problem> {
  const serve = text(row.serve);
  const unfilled = parametersOf(text(row.to) ?? '').find((name) => !parametersOf(template).includes(name));
  if (unfilled !== undefined) yield { path: [...path, 'to'], message: `{${unfilled}} is no parameter of this row's path` };
  const served = row.status !== 'unsupported';
  if (served && row.serve === undefined && row.status !== undefined) {
    yield { path, at: 'first-key', message: "'serve' is missing; only unsupported rows need none" };
  }
  if (served && OUTSIDE.test(template))
    yield { path: [...path, 'status'], message: 'this path is outside the surface: unsupported is its only status' };
  if (serve === undefined || !Object.hasOwn(KINDS, serve)) return;
  const methods: readonly string[] = KINDS[serve as RouteKind].methods;
  if (!methods.includes(method)) yield { path: [...path, 'serve'], message: `'${serve}' serves ${methods.join(' and ')}, not ${method}` };
  // Its credential is another one (AU2): any other kind there would serve without a key.
  if ((serve === 'mcp') !== (template === '/mcp') && served)
    yield { path: [...path, 'serve'], message: "'mcp' serves /mcp, and nothing else does" };
  if (BY_FILE_ID.has(serve) && !template.includes('{file_id}'))
    yield { path: [...path, method], message: `'${serve}' needs {file_id} in its path` };
  if (method === 'WS' && served && row.class !== 'websocket')
    yield { path: [...path, 'class'], message: 'a WS row belongs to class websocket' };
}

const parametersOf = (path: string): readonly string[] => [...path.matchAll(/\{([^}]*)\}/g)].map((found) => found[1] ?? '');

/** Two rows of one method and path, as written or in this deployment's wire words: only one of them could answer. */
function* collisions(rows: readonly RouteRow[], words: Readonly<Record<string, string>>): Generator<Problem> {
  const written = new Set<string>();
  const worded = new Set<string>();
  for (const { path, method, template } of rows) {
    const shape = `${method} ${template.replace(/\{[^}]*\}/g, '{}')}`;
    const onTheWire = shape
      .split('/')
      .map((segment) => words[segment] ?? segment)
      .join('/');
    if (written.has(shape)) yield { path: [...path, method], message: `${method} of this path stands twice in the route table` };
    else if (worded.has(onTheWire)) yield { path: ['wire'], message: 'with these words two rows of the route table have one path' };
    written.add(shape);
    worded.add(onTheWire);
  }
}

function wordsOf(data: unknown): Readonly<Record<string, string>> {
  const { agent, meter } = mapping(mapping(data).wire);
  return Object.assign(Object.create(null), { agent: text(agent) ?? 'agent', meter: text(meter) ?? 'meter' });
}
