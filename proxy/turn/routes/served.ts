// Which rows of the route table are served: their status decides (S8).
import type { Route } from '../turn.ts';

export const isServed = ({ status }: Pick<Route, 'status'>): boolean => status !== 'unsupported';

/** The reason why a row is not served, with the answer to its requests; null if it is served. */
export const noteOf = (route: Pick<Route, 'status'>): string | null =>
  isServed(route) ? null : 'unsupported by its status: 404 unsupported_endpoint';
