// The accounts that serve no model, because no read of their list has succeeded.

interface CatalogRead {
  readonly account: string;
  readonly models: number;
  /** The reason why the last read failed. */
  readonly failure?: string | undefined;
}

export const unlistedAccounts = (catalogs: readonly CatalogRead[]): ReadonlySet<string> =>
  new Set(catalogs.flatMap(({ account, failure, models }) => (failure !== undefined && models === 0 ? account : [])));
