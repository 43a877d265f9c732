// The Pools that the operator of an edit may change. They are checked against the file, which may be newer than the running configuration.
import { InvalidEdit } from './invalid-edit.ts';

/** Undefined means all Pools. */
export type Pools = readonly string[] | undefined;

/** @throws InvalidEdit */
export function requireOwned(pool: string, owned: Pools): void {
  if (owned && !owned.includes(pool)) throw new InvalidEdit('right', `Pool '${pool}' is not one that you own`);
}
