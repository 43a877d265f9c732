// The thread that counts tokens. It answers each task once, in order.
import { hash } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { tokensOfText } from './token-count.ts';

export interface TokenTask {
  readonly id: number;
  readonly texts: readonly string[];
}

/** Null if counting took too long. */
export interface TokenAnswer {
  readonly id: number;
  readonly counts: readonly number[] | null;
}

/** The longest time of one task. A tokenizer may take many times as long for text that is not natural language. */
const LONGEST_TASK_MS = 500;

/** Counts by digest, because every turn of a conversation repeats the outputs of all turns before it. No text is kept. */
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
