// The edits that create, rotate, pause, resume and revoke a key.
import { msOfIso } from '../../../base/time/iso-time.ts';
import type { EffortPolicy, KeyConfig, KeyLimits } from '../../../turn/settings.ts';
import type { Config } from '../../config.ts';
import type { Edit } from '../edit.ts';
import type { EditInput } from '../file-replacement.ts';
import type { Plain } from '../yaml-render.ts';
import { type Pools, requireOwned } from './edited-pools.ts';
import { InvalidEdit, indexIn } from './invalid-edit.ts';

/** What a key may use, in the form of the file. */
export interface KeyPolicies {
  readonly expires_at?: string;
  readonly models?: readonly string[];
  readonly reasoning_effort?: EffortPolicy;
  readonly output_tokens?: { readonly max: number };
  readonly limits?: KeyLimits;
}

export interface KeyCreation {
  readonly do: 'key.create';
  readonly id: string;
  readonly pool: string;
  readonly policies: KeyPolicies;
}

export interface KeyRotation {
  readonly do: 'key.rotate';
  readonly id: string;
}

export interface KeyStatusChange {
  readonly do: 'key.status';
  readonly id: string;
  readonly status: KeyConfig['status'];
}

/** @param sha256 the hash of the new secret @throws InvalidEdit */
export function keyCreation({ config }: EditInput, { id, pool, policies }: KeyCreation, owned: Pools, sha256: string): readonly Edit[] {
  requireOwned(pool, owned);
  indexIn(config.pools, pool, 'Pool');
  if (config.keys.some((known) => known.id === id)) {
    throw new InvalidEdit('state', `key '${id}' exists already; \`poolgate key rotate ${id}\` adds a secret to it`);
  }
  checkExpiry(policies.expires_at);
  return [
    { append: ['keys'], row: { id, pool, secret_sha256: [sha256], status: 'active', ...(policies as Readonly<Record<string, Plain>>) } },
  ];
}

/**
 * @param sha256 the hash of the additional secret; other secrets are valid until their hashes are removed from the file
 * @throws InvalidEdit
 */
export function keyRotation({ config }: EditInput, { id }: KeyRotation, owned: Pools, sha256: string): readonly Edit[] {
  return [{ append: ['keys', indexOfUsable(config, id, owned), 'secret_sha256'], row: sha256 }];
}

/** @returns the edits; none if the key is already in that state @throws InvalidEdit */
export function keyStatusChange({ config }: EditInput, { id, status }: KeyStatusChange, owned: Pools): readonly Edit[] {
  if (config.keys[indexOfOwned(config, id, owned)]?.status === status) return [];
  return [{ set: ['keys', indexOfUsable(config, id, owned), 'status'], to: status }];
}

/** Refuses an expiry time that has already passed. @throws InvalidEdit */
export function checkExpiry(expires_at: string | undefined): void {
  if (expires_at !== undefined && msOfIso(expires_at) <= Date.now()) {
    throw new InvalidEdit('argument', `expires_at ${expires_at} is in the past`, 'expires_at');
  }
}

/** @throws InvalidEdit, also if the key is revoked */
export function indexOfUsable(config: Config, id: string, owned: Pools): number {
  const index = indexOfOwned(config, id, owned);
  if (config.keys[index]?.status === 'revoked') throw new InvalidEdit('state', `key '${id}' is revoked, and that is final`);
  return index;
}

function indexOfOwned({ keys }: Config, id: string, owned: Pools): number {
  const index = indexIn(keys, id, 'key');
  requireOwned(keys[index]?.pool ?? '', owned);
  return index;
}
