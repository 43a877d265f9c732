// The identity of the user of a login: the claim that the account's `identity_claim` names.
import { isObject, type Json } from '../../../turn/json/json.ts';
import type { OauthCredential } from '../../../turn/settings.ts';
import { claimsOf, type Tokens } from '../tokens.ts';

type Claim = NonNullable<OauthCredential['identity_claim']>;

export const DEFAULT_CLAIM = 'sub';

/** The claim in the id token, otherwise in a JWT access token; undefined if neither states it. */
export function loginIdentity({ id, access }: Pick<Tokens, 'id' | 'access'>, claim: Claim = DEFAULT_CLAIM): string | undefined {
  for (const token of [id, access]) {
    const identity = token === undefined ? undefined : claimIn(claimsOf(token), typeof claim === 'string' ? [claim] : claim);
    if (identity !== undefined) return identity;
  }
  return undefined;
}

function claimIn(claims: Json | undefined, way: readonly string[]): string | undefined {
  let value = claims;
  for (const name of way) value = isObject(value) ? value[name] : undefined;
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}
