// The target of a request: its path with the parameters that the account adds to every request (AA3).

/** @param query encoded, without `?`; empty for accounts without parameters */
export const requestTarget = (path: string, query: string): string =>
  query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`;
