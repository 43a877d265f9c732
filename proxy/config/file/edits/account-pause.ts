// The edit that pauses an account, or resumes it.
import type { Edit } from '../edit.ts';
import type { EditInput } from '../file-replacement.ts';
import { indexIn } from './invalid-edit.ts';

export interface AccountPause {
  readonly do: 'account.pause';
  readonly id: string;
  readonly paused: boolean;
}

/** @returns the edits; none if the account is already in that state @throws InvalidEdit */
export function accountPause({ config: { accounts } }: EditInput, { id, paused }: AccountPause): readonly Edit[] {
  const index = indexIn(accounts, id, 'account');
  return accounts[index]?.paused === paused ? [] : [{ set: ['accounts', index, 'paused'], to: paused }];
}
