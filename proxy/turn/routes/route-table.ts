// The compiled route table, which maps a method and an exact path to a Route. Other requests are not served (S3).
import type { AdmissionClass, RouteStatus, WireWords } from '../settings.ts';
import type { Route, RouteFamily } from '../turn.ts';
import { dispatchedKind, type RouteKind } from './kinds.ts';

/** One row of the route table as in the configuration, with neutral words. */
export interface RouteRow {
  /** An HTTP method, or `WS` for a websocket upgrade on GET. */
  readonly method: string;
  /** The path, with `{name}` for a path parameter. */
  readonly path: string;
  readonly status: RouteStatus;
  /** Absent on unsupported rows that have no kind. */
  readonly serve?: RouteKind;
  /** The path at the account, if it differs from `path`. */
  readonly to?: string;
  readonly class: AdmissionClass;
}

/** A row of a path, with the parameter names of its own template. */
interface Row {
  readonly route: Route;
  readonly names: readonly string[];
}

/** The rows of one path, by method; `WS` is an upgrade on GET. */
type Rows = Map<string, Row>;

interface Pattern {
  readonly expression: RegExp;
  readonly rows: Rows;
}

export interface Match {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

/** The answer for a path that exists, requested with another method. */
export interface NoMethod {
  readonly allow: readonly string[];
  /** One of the path's rows, which the log uses for the request. */
  readonly like: Route;
}

const NO_PARAMS: Readonly<Record<string, string>> = {};

/** The route of a request outside the table. The log uses it instead of the path, which is a client's text (S4). */
export const NO_ROUTE: Route = Object.freeze({
  kind: undefined,
  method: '*',
  template: '(none)',
  family: 'none',
  status: 'unsupported',
  class: 'http',
  upstream: '',
  sdpOnly: false,
});

/** A path parameter: one segment, not decoded. Dot segments are refused, because other programs would resolve them. */
const PARAMETER = '((?!(?:\\.|%2[eE]){1,2}(?:/|$))[^/]+)';

/** A parameter that can be sent to an account unchanged: it has no encodings and no separators. */
const SENDABLE = /^[A-Za-z0-9._-]{1,256}$/;

export class RouteTable {
  readonly all: readonly Route[];
  readonly #exact = new Map<string, Rows>();
  readonly #patterns: Pattern[] = [];

  constructor(rows: readonly RouteRow[], wire: WireWords) {
    this.all = rows.map((row) => this.#add(row, wire));
  }

  /** Returns the row of this method and raw path, or the allowed methods of a known path; undefined for an unknown path. */
  find(method: string, path: string): Match | NoMethod | undefined {
    const exact = this.#exact.get(path);
    if (exact) return match(exact, method, []);
    for (const { expression, rows } of this.#patterns) {
      const found = expression.exec(path);
      if (found) return match(rows, method, found.slice(1));
    }
    return undefined;
  }

  #add(row: RouteRow, wire: WireWords): Route {
    const template = worded(row.path, wire);
    const route: Route = Object.freeze({
      kind: row.serve,
      method: row.method,
      template,
      family: familyOf(row.path),
      status: row.status,
      class: row.class,
      upstream: worded(row.to ?? row.path, wire),
      sdpOnly: row.path.endsWith('/realtime/calls'),
    });
    const names = [...template.matchAll(/\{([^}]+)\}/g)].map((found) => found[1] ?? '');
    this.#rowsOf(template).set(row.method, { route, names });
    return route;
  }

  #rowsOf(template: string): Rows {
    if (!template.includes('{')) {
      const rows: Rows = this.#exact.get(template) ?? new Map();
      this.#exact.set(template, rows);
      return rows;
    }
    const expression = new RegExp(
      `^${template
        .split(/\{[^}]+\}/)
        .map(literal)
        .join(PARAMETER)}$`,
    );
    const known = this.#patterns.find((pattern) => pattern.expression.source === expression.source);
    if (known) return known.rows;
    const rows: Rows = new Map();
    this.#patterns.push({ expression, rows });
    return rows;
  }
}

function match(rows: Rows, method: string, values: readonly string[]): Match | NoMethod | undefined {
  // A plain GET on a websocket row belongs to that row, so it gets 426 and not 405.
  const row = rows.get(method) ?? (method === 'GET' ? rows.get('WS') : undefined);
  if (!row) return noMethod(rows);
  const { route, names } = row;
  if (!values.every((value) => SENDABLE.test(value)) && dispatchedKind(route.kind)) return undefined;
  return { route, params: names.length === 0 ? NO_PARAMS : Object.fromEntries(names.map((name, i) => [name, values[i] ?? ''])) };
}

function noMethod(rows: Rows): NoMethod {
  const allowed = [...rows].filter(([, { route }]) => !hasNoStream(route));
  const allow = [...new Set(allowed.map(([method]) => (method === 'WS' ? 'GET' : method)))];
  return { allow, like: rows.values().next().value?.route ?? NO_ROUTE };
}

/** Whether a row exists only to say that `/mcp` has no stream (G2). Its method is not allowed (Q25). */
const hasNoStream = ({ kind, method }: Route): boolean => kind === 'mcp' && method === 'GET';

const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** A path in this deployment's words. Only whole segments `agent` and `meter` are replaced. */
export function worded(path: string, wire: WireWords): string {
  return path
    .split('/')
    .map((segment) => (segment === 'agent' ? wire.agent : segment === 'meter' ? wire.meter : segment))
    .join('/');
}

/** The route family of a neutral path, as in the contract's table of credentials. */
function familyOf(path: string): RouteFamily {
  if (path.startsWith('/backend-api/agent/')) return 'backend-agent';
  if (path === '/mcp') return 'mcp';
  if (path.startsWith('/v1/')) return 'v1';
  return path.endsWith('/usage') ? 'usage' : 'backend';
}

/** Whether a row is served, which its status decides (S8). */
export const isServed = ({ status }: Pick<Route, 'status'>): boolean => status !== 'unsupported';

/** The reason why a row is not served, which requests to it get as their answer; null if the row is served. */
export const noteOf = (route: Pick<Route, 'status'>): string | null =>
  isServed(route) ? null : 'unsupported by its status: 404 unsupported_endpoint';
