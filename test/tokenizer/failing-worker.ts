// A thread for tests that replaces the one that counts tokens: the text decides the result of its task.
import { parentPort } from 'node:worker_threads';
import type { TokenTask } from '../../proxy/tokenizer/token-worker.ts';

parentPort?.on('message', ({ id, texts }: TokenTask) => {
  const [order = ''] = texts;
  if (order === 'throw') throw new Error('a fault of the test');
  if (order === 'exit') process.exit(3);
  if (order === 'late') parentPort?.postMessage({ id, counts: null });
  else if (order !== 'hang') parentPort?.postMessage({ id, counts: texts.map(({ length }) => length) });
});
