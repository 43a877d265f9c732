// The paths of API accounts, with the parameters of the account's query (AA2, AA3).
import type { ApiAccountConfig } from '../../turn/provider/api-account.ts';

/** @param path below the account's base URL */
export function apiPath({ query }: Pick<ApiAccountConfig, 'query'>, path: string): string {
  const parameters = new URLSearchParams(query).toString();
  return parameters === '' ? path : `${path}?${parameters}`;
}
