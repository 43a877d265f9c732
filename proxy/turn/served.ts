// What this version serves: the one list from which the gateway takes its handlers, and commands and /status what they say of a row.
import type { RouteKind } from './kinds.ts';
import type { Route } from './turn.ts';

/** Kinds whose requests have a handler. */
export const HTTP_KINDS = [
  'catalog',
  'forward',
  'key-usage',
  'models',
  'pool-usage',
  'public-responses',
  'responses',
] as const satisfies readonly RouteKind[];

export type HttpKind = (typeof HTTP_KINDS)[number];

/** Kinds whose WS rows take an upgrade. */
export const WEBSOCKET_KINDS: readonly RouteKind[] = [];

/** Whether this version has what the row needs, whatever its status. */
export function hasHandler({ method, kind }: Pick<Route, 'method' | 'kind'>): boolean {
  const kinds: readonly RouteKind[] = method === 'WS' ? WEBSOCKET_KINDS : HTTP_KINDS;
  return kind !== undefined && kinds.includes(kind);
}

/** `no`: its status is unsupported. `not yet`: its status promises more than this version has. */
export type Served = 'yes' | 'no' | 'not yet';

export function servedOf(route: Pick<Route, 'method' | 'kind' | 'status'>): Served {
  if (route.status === 'unsupported') return 'no';
  return hasHandler(route) ? 'yes' : 'not yet';
}

/** Why a row is not served, and what its requests get; null where it is. */
export function noteOf(route: Pick<Route, 'method' | 'kind' | 'status'>): string | null {
  const served = servedOf(route);
  if (served === 'yes') return null;
  if (served === 'no') return 'unsupported by its status: 404 unsupported_endpoint';
  return `not served by this version: ${route.method === 'WS' ? '426 websocket_upgrade_required' : '404 unsupported_endpoint'}`;
}
