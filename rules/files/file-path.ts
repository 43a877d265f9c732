// Checks that the file named in a path exists in the Pool, and pins the request to the account that has it (C2, Q10).
import { Refusal } from '../../proxy/turn/errors/refusal.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import type { FileView, Turn } from '../../proxy/turn/turn.ts';

export const filePath = rule({
  name: 'file-path',
  routes: ['file-finish'],
  request(_work, turn) {
    const found = turn.findFile(turn.params.file_id ?? '');
    return found instanceof Promise ? found.then((file) => bind(turn, file)) : bind(turn, found);
  },
});

function bind(turn: Turn, file: FileView | undefined): void {
  if (!file) throw new Refusal('file_not_found');
  turn.fileOwner = file.account;
}
