// Capsules: text that a chat account needs back, or the summary of a conversation, sealed in an item that the client keeps (AA22).
import { isObject, type Json, type JsonObject } from '../json/json.ts';

/** The beginning of the `encrypted_content` of every capsule. No provider's ciphertext begins with it. */
export const CAPSULE_PREFIX = 'pgc1.';

/** The types of the items that have a capsule. */
export type CapsuleItem = 'reasoning' | 'compaction';

/** Seals and opens the texts of capsules. */
export interface Capsules {
  /** @param pool the id of the Pool; the capsule can be opened only by turns of this Pool, in an item of this type */
  seal(text: string, pool: string, item: CapsuleItem): string;
  /** Undefined if the text was not sealed here for this Pool and type. */
  open(sealed: string, pool: string, item: CapsuleItem): string | undefined;
}

/** The most bytes that are sealed in one turn. */
export const MOST_SEALED_BYTES = 1_048_576;

/** The capsule of an item; undefined if it has other ciphertext, or none. */
export function capsuleIn(item: Json | undefined): string | undefined {
  const text = isObject(item) ? item.encrypted_content : undefined;
  return typeof text === 'string' && text.startsWith(CAPSULE_PREFIX) ? text : undefined;
}

/** Whether this is a reasoning item without ciphertext. Only its maker could look it up, and no reply is stored there. */
export const isBareReasoning = ({ type, encrypted_content: text }: JsonObject): boolean =>
  type === 'reasoning' && (typeof text !== 'string' || text === '');
