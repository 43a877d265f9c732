// Capsules: what chat accounts need back, and summaries of conversations, sealed into items that clients keep for them (AA22).
import { isObject, type Json, type JsonObject } from '../json/json.ts';

/** The beginning of the `encrypted_content` of every capsule; the ciphertext of no provider begins so. */
export const CAPSULE_PREFIX = 'pgc1.';

/** The types of the items that have a capsule. */
export type CapsuleItem = 'reasoning' | 'compaction';

/** Seals and opens the texts of capsules. */
export interface Capsules {
  /** @param pool id; a capsule opens for turns of this Pool alone, in an item of this type. */
  seal(text: string, pool: string, item: CapsuleItem): string;
  /** Undefined if it was not sealed here for this Pool and type. */
  open(sealed: string, pool: string, item: CapsuleItem): string | undefined;
}

/** The most bytes that are sealed in one turn. */
export const MOST_SEALED_BYTES = 1_048_576;

/** The capsule of an item; undefined if it has other ciphertext, or none. */
export function capsuleIn(item: Json | undefined): string | undefined {
  const text = isObject(item) ? item.encrypted_content : undefined;
  return typeof text === 'string' && text.startsWith(CAPSULE_PREFIX) ? text : undefined;
}

/** Whether it is reasoning that has nothing for the account that made it: only its maker could look it up, and no reply is stored. */
export const isBareReasoning = ({ type, encrypted_content: text }: JsonObject): boolean =>
  type === 'reasoning' && (typeof text !== 'string' || text === '');
