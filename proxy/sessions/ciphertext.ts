// Which account made which ciphertext, and which one refused it: reasoning and compaction items are good at their maker only (Q10).

import { LRUCache } from 'lru-cache';
import type { KeyedDigest } from '../encryption/digest.ts';
import type { Json } from '../turn/json.ts';
import { isObject } from '../turn/json.ts';

/** In memory alone: after a restart a refused ciphertext is of unknown making. */
const REMEMBERED = 10_000;
/** Ciphertexts end in what authenticates them, so the end tells them apart, whatever their length. */
const TELLING = 96;

export class Ciphertexts {
  readonly #digest: KeyedDigest;
  readonly #makers = new LRUCache<string, string>({ max: REMEMBERED });
  readonly #refusers = new LRUCache<string, string>({ max: REMEMBERED });

  constructor(digest: KeyedDigest) {
    this.#digest = digest;
  }

  /** An output item of this account's. */
  learn(item: Json | undefined, account: string): void {
    const mark = this.#markOf(item);
    if (mark !== undefined) this.#makers.set(mark, account);
  }

  makerOf(item: Json | undefined): string | undefined {
    const mark = this.#markOf(item);
    return mark === undefined ? undefined : this.#makers.get(mark);
  }

  /** This account would not have the item. */
  refuse(item: Json, account: string): void {
    const mark = this.#markOf(item);
    if (mark !== undefined) this.#refusers.set(mark, account);
  }

  isRefusedBy(item: Json, account: string): boolean {
    const mark = this.#markOf(item);
    return mark !== undefined && this.#refusers.get(mark) === account;
  }

  #markOf(item: Json | undefined): string | undefined {
    const text = ciphertextOf(item);
    return text === undefined ? undefined : this.#digest.of(text.slice(-TELLING));
  }
}

export function ciphertextOf(item: Json | undefined): string | undefined {
  const text = isObject(item) ? item.encrypted_content : undefined;
  return typeof text === 'string' && text !== '' ? text : undefined;
}

export const isReasoning = (item: Json): boolean => isObject(item) && item.type === 'reasoning';
