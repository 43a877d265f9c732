// The events that end a reply, and the kind of end that each announces.
import { isObject, type JsonObject } from '../json/json.ts';

const TERMINAL = {
  'response.completed': 'completed',
  'response.incomplete': 'incomplete',
  'response.failed': 'failed',
  'image_generation.completed': 'completed',
  'image_edit.completed': 'completed',
  error: 'failed',
} as const;

export type ReplyEnd = (typeof TERMINAL)[keyof typeof TERMINAL];

/** The kind of end that an event announces; undefined if the event does not end a reply. */
export function endOf(type: string): ReplyEnd | undefined {
  return Object.hasOwn(TERMINAL, type) ? TERMINAL[type as keyof typeof TERMINAL] : undefined;
}

const WITH_RESPONSE: ReadonlySet<string> = new Set(['response.completed', 'response.incomplete']);

/**
 * Whether an event announces a response and has none. Clients read the response from the event: SDKs fail without it, and a native client
 * does not recognise the end.
 */
export const lacksResponse = (type: string, data: JsonObject): boolean => WITH_RESPONSE.has(type) && !isObject(data.response);

/**
 * Whether the provider reports that it cancelled the response, although the gateway never asks for it. Clients do not know such an event.
 * For them the reply broke off.
 */
export const isCancellation = (type: string): boolean => type === 'response.cancelled' || type === 'response.canceled';

export const TERMINAL_TYPES: ReadonlySet<string> = new Set(Object.keys(TERMINAL));
