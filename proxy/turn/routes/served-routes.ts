// Whether a row of the route table is served, which its status decides (S8).
import type { Route } from '../turn.ts';

export const isServed = ({ status }: Pick<Route, 'status'>): boolean => status !== 'unsupported';

/** The reason why a row is not served, which requests to it get as their answer; null if the row is served. */
export const noteOf = (route: Pick<Route, 'status'>): string | null =>
  isServed(route) ? null : 'unsupported by its status: 404 unsupported_endpoint';
