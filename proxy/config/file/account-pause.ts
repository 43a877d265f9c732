// The edits that pause an account, or use it again: the same for the command and the admin API.
import type { Edit } from './edit.ts';
import type { EditInput } from './file-replacement.ts';

/** None where it is so already, or the file has no such account. */
export function accountPause({ config }: EditInput, id: string, paused: boolean): readonly Edit[] {
  const index = config.accounts.findIndex((account) => account.id === id);
  const account = config.accounts[index];
  return account === undefined || account.paused === paused ? [] : [{ set: ['accounts', index, 'paused'], to: paused }];
}
