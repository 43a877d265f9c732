// What this version serves of the route table, and what the requests of all other rows get.
import { KINDS, type RouteKind } from './kinds.ts';
import type { Route } from './turn.ts';

/** The connection that a row's method asks for. */
const connectionOf = (method: string): 'http' | 'websocket' => (method === 'WS' ? 'websocket' : 'http');

/** Whether this version serves turns of this kind under this method, whatever the status of the row. */
export const isServed = (kind: RouteKind | undefined, method: string): boolean =>
  kind !== undefined && (KINDS[kind].over as readonly string[]).includes(connectionOf(method));

/** `no`: the row's status is unsupported. `not yet`: the status promises more than this version has. */
export type Served = 'yes' | 'no' | 'not yet';

export function servedOf({ status, kind, method }: Pick<Route, 'method' | 'kind' | 'status'>): Served {
  if (status === 'unsupported') return 'no';
  return isServed(kind, method) ? 'yes' : 'not yet';
}

/** Why a row is not served, and what its requests get; null where it is served. */
export function noteOf(route: Pick<Route, 'method' | 'kind' | 'status'>): string | null {
  const served = servedOf(route);
  if (served === 'yes') return null;
  if (served === 'no') return 'unsupported by its status: 404 unsupported_endpoint';
  return `not served by this version: ${route.method === 'WS' ? '426 websocket_upgrade_required' : '404 unsupported_endpoint'}`;
}
