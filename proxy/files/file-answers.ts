// Reads an account's answers to the creation and the finalisation of a file. Until then they are unchecked provider text.
import { asString, type Json, type JsonObject } from '../turn/json/json.ts';

/** A path segment, so that the id needs no escapes in a path, and names nothing else there. */
const FILE_ID = /^[\w-]{1,200}$/;

/** Undefined where the answer has no usable id. */
export function fileIdOf({ file_id }: JsonObject): string | undefined {
  const id = asString(file_id);
  return id !== undefined && FILE_ID.test(id) ? id : undefined;
}

/** `retry`: the account is not done with the file yet. */
export type Finalised = 'success' | 'retry' | 'error';

/** Undefined where the answer does not state it. */
export function finalisedOf({ status }: JsonObject): Finalised | undefined {
  return status === 'success' || status === 'retry' || status === 'error' ? status : undefined;
}

/** Unix milliseconds; null where the account states no expiry. */
export function expiryOf({ expires_at }: JsonObject): number | null {
  return wholeNumber(expires_at) === undefined ? null : (expires_at as number) * 1000;
}

export const sizeOf = ({ file_size_bytes }: JsonObject): number | undefined => wholeNumber(file_size_bytes);

const wholeNumber = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
