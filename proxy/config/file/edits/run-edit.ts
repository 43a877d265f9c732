// Applies one edit to one file, in the calling thread.
import { rewriteConfig } from '../file-replacement.ts';
import { editsOf, type OrderTask } from './edit-order.ts';

export interface EditTask extends OrderTask {
  readonly path: string;
  readonly secrets: boolean;
}

/** @returns whether the file was changed */
export const runEdit = ({ path, secrets, ...task }: EditTask): Promise<boolean> =>
  rewriteConfig(path, (input) => editsOf(input, task), { secrets });
