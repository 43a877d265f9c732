// Reads the forms in which compatible servers state an error, in addition to the forms of agent backends (AA61).
import { errorIn, type ProviderError } from '../../../turn/errors/error-statement.ts';
import { asString, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';

/** The longest message of such an error that a client gets, in characters (AA63). */
const LONGEST_MESSAGE = 500;

/** Reads an error. At some servers `code` and `type` are numbers, `error` is a text, or the body itself is the error. */
export function apiErrorIn(json: JsonObject): ProviderError {
  const error = errorIn(normalised(json));
  return { ...error, message: error.message?.slice(0, LONGEST_MESSAGE) ?? null };
}

function normalised(json: JsonObject): JsonObject {
  const { error } = json;
  if (typeof error === 'string') return { ...texted(json), error: { ...texted(json), message: error } };
  if (isObject(error)) return { ...json, error: texted(error) };
  // Mistral puts the list of faults into the message.
  if (isObject(json.message)) return { detail: json.message.detail };
  return texted(json);
}

const texted = (error: JsonObject): JsonObject => ({ ...error, code: text(error.code), type: text(error.type) });

const text = (value: Json | undefined): Json | undefined => (typeof value === 'number' ? String(value) : value);

/** The status that an error inside a reply states, as a number or as the digits of its code (AA59). */
export function statedStatus(json: JsonObject): number | undefined {
  const error = isObject(json.error) ? json.error : json;
  const stated = [json.status, json.status_code, error.status, error.status_code, error.code].map(Number);
  return stated.find((status) => Number.isInteger(status) && status >= 400 && status <= 599);
}

/** Whether the error has the results of a moderation. */
export function isModerated({ error }: JsonObject): boolean {
  if (!isObject(error)) return false;
  const { metadata, innererror } = error;
  if (isObject(innererror) && asString(innererror.code)?.startsWith('ResponsibleAI')) return true;
  return isObject(metadata) && (metadata.flagged_input !== undefined || metadata.reasons !== undefined);
}
