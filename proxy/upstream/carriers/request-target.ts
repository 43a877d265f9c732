// The target of a request: its path, with the parameters that the account adds to every request (AA3).

/** @param query encoded, without `?`; empty if the account has no parameters */
export const requestTarget = (path: string, query: string): string =>
  query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`;
