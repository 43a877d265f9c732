// THE EDITS that commands and the admin API can request. They are plain data, so that a large file can be edited in a separate thread.
import type { Edit } from '../edit.ts';
import type { EditInput } from '../file-replacement.ts';
import type { Pools } from './edited-pools.ts';
import { type KeyCreation, type KeyRotation, type KeyStatusChange, keyCreation, keyRotation, keyStatusChange } from './key-edits.ts';
import { type KeyPolicyChange, keyPolicyChange } from './key-policy-edits.ts';
import { type AccountPause, accountPause, type ModeChoice, modeEdits } from './setting-edits.ts';
import { type TokenCreation, type TokenRevocation, tokenCreation, tokenRevocation } from './token-edits.ts';

export type EditOrder =
  | AccountPause
  | KeyCreation
  | KeyPolicyChange
  | KeyRotation
  | KeyStatusChange
  | ModeChoice
  | TokenCreation
  | TokenRevocation;

/** The edits that make a secret. */
export type SecretOrder = KeyCreation | KeyRotation | TokenCreation;

/** The prefix of the secret that each edit makes. */
const PREFIXES: Readonly<Record<SecretOrder['do'], 'pg-' | 'pg-mcp-'>> = {
  'key.create': 'pg-',
  'key.rotate': 'pg-',
  'token.create': 'pg-mcp-',
};

/** Undefined for an edit that makes no secret. */
export const prefixOf = ({ do: name }: EditOrder): 'pg-' | 'pg-mcp-' | undefined =>
  name in PREFIXES ? PREFIXES[name as SecretOrder['do']] : undefined;

export interface OrderTask {
  readonly order: EditOrder;
  /** The Pools that may be changed. Undefined means all. */
  readonly owned: Pools;
  /** The hash of the secret that the edit makes; empty if it makes none. */
  readonly sha256: string;
}

/** @returns the edits; none if nothing has to change @throws InvalidEdit */
export function editsOf(input: EditInput, { order, owned, sha256 }: OrderTask): readonly Edit[] {
  switch (order.do) {
    case 'account.pause':
      return accountPause(input, order);
    case 'key.create':
      return keyCreation(input, order, owned, sha256);
    case 'key.rotate':
      return keyRotation(input, order, owned, sha256);
    case 'key.status':
      return keyStatusChange(input, order, owned);
    case 'key.change':
      return keyPolicyChange(input, order, owned);
    case 'mode.set':
      return modeEdits(input, order, owned);
    case 'token.create':
      return tokenCreation(input, order, sha256);
    case 'token.revoke':
      return tokenRevocation(input, order);
  }
}
