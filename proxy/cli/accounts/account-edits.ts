// The edits that add an account to the file, with its assignment to a Pool.
import type { Edit } from '../../config/file/edit.ts';
import { indexIn } from '../../config/file/edits/invalid-edit.ts';
import type { EditInput } from '../../config/file/file-replacement.ts';
import { CommandFailure } from '../command.ts';
import type { NewAccountRow } from './new-account.ts';

/** @throws {CommandFailure} if the id exists already */
export function accountEdits(
  { config }: EditInput,
  { row, pool }: { readonly row: NewAccountRow; readonly pool: string },
): readonly Edit[] {
  const id = String(row.id);
  if (config.accounts.some((known) => known.id === id)) throw new CommandFailure(`account '${id}' exists already`);
  const index = indexIn(config.pools, pool, 'Pool');
  return [
    { append: ['accounts'], row },
    { append: ['pools', index, 'assignments'], row: { account: id } },
  ];
}
