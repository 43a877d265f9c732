// The thread that counts tokens: one answer for each task, in order.
import { hash } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { tokensOfText } from './token-count.ts';

export interface TokenTask {
  readonly id: number;
  readonly texts: readonly string[];
}

/** Null: it took too long. */
export interface TokenAnswer {
  readonly id: number;
  readonly counts: readonly number[] | null;
}

/** Longest that one task may take: texts that are not natural language may take a tokenizer many times as long. */
const LONGEST_TASK_MS = 500;

/** Every turn of a conversation has the outputs of all turns before it. Digests and numbers, no text. */
const known = new LRUCache<string, number>({ max: 8_192 });

function answer({ id, texts }: TokenTask): TokenAnswer {
  const end = performance.now() + LONGEST_TASK_MS;
  const counts: number[] = [];
  for (const text of texts) {
    const digest = hash('sha256', text, 'base64');
    const count = known.get(digest) ?? tokensOfText(text, () => performance.now() < end);
    if (count === undefined) return { id, counts: null };
    known.set(digest, count);
    counts.push(count);
  }
  return { id, counts };
}

parentPort?.on('message', (task: TokenTask) => parentPort?.postMessage(answer(task)));
