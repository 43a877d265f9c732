// The edits that create and revoke tokens of operators.
import type { Edit } from '../edit.ts';
import type { EditInput } from '../file-replacement.ts';
import { InvalidEdit, indexIn } from './invalid-edit.ts';
import { secretName } from './new-secret.ts';

/** A new operator with its token, or a further token for an existing operator, which sets no rights. */
export interface TokenCreation {
  readonly do: 'token.create';
  readonly operator: string;
  readonly owns?: readonly string[] | undefined;
  readonly assigned?: readonly string[] | undefined;
  readonly admin?: boolean | undefined;
}

export interface TokenRevocation {
  readonly do: 'token.revoke';
  readonly operator: string;
  /** The name of the token: the first digits of its hash. */
  readonly token: string;
}

/** @param sha256 the hash of the new token @throws InvalidEdit */
export function tokenCreation({ config }: EditInput, { operator, owns, assigned, admin }: TokenCreation, sha256: string): readonly Edit[] {
  const index = config.operators.findIndex(({ id }) => id === operator);
  const hasRights = owns !== undefined || assigned !== undefined || admin === true;
  if (index >= 0) {
    if (hasRights) throw new InvalidEdit('argument', `operator '${operator}' exists already: change its rights in the file`);
    return [{ append: ['operators', index, 'token_sha256'], row: sha256 }];
  }
  if (!hasRights) {
    throw new InvalidEdit(
      'argument',
      `operator '${operator}' is new: name the Pools that it owns or is assigned to (--owns, --assigned), or make it an admin (--admin)`,
    );
  }
  const row = { id: operator, token_sha256: [sha256], ...(owns && { owns }), ...(assigned && { assigned }), ...(admin && { admin }) };
  return [{ append: ['operators'], row }];
}

/** The edits that revoke a token. An operator without a token is removed. @throws InvalidEdit */
export function tokenRevocation({ config: { operators } }: EditInput, { operator, token }: TokenRevocation): readonly Edit[] {
  const index = indexIn(operators, operator, 'operator');
  const hashes = operators[index]?.token_sha256 ?? [];
  const found = hashes.findIndex((sha256) => secretName(sha256) === token);
  if (found < 0)
    throw new InvalidEdit('unknown', `operator '${operator}' has no token '${token}'; its tokens: ${hashes.map(secretName).join(', ')}`);
  return [{ remove: hashes.length === 1 ? ['operators', index] : ['operators', index, 'token_sha256', found] }];
}
