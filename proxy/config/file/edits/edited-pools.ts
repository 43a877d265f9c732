// The Pools that the operator of an edit may change: checked against the file that is edited, which may be newer than the configuration.
import { InvalidEdit } from './invalid-edit.ts';

/** Undefined: all. */
export type Pools = readonly string[] | undefined;

/** @throws InvalidEdit */
export function requireOwned(pool: string, owned: Pools): void {
  if (owned && !owned.includes(pool)) throw new InvalidEdit('right', `Pool '${pool}' is not one that you own`);
}
