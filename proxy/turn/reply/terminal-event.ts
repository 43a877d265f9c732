// The events that end a reply, and the end that each announces.

const TERMINAL = {
  'response.completed': 'completed',
  'response.incomplete': 'incomplete',
  'response.failed': 'failed',
  'image_generation.completed': 'completed',
  'image_edit.completed': 'completed',
  error: 'failed',
} as const;

export type ReplyEnd = (typeof TERMINAL)[keyof typeof TERMINAL];

/** The end of a reply that has this event in it; undefined for all other events. */
export function endOf(type: string): ReplyEnd | undefined {
  return Object.hasOwn(TERMINAL, type) ? TERMINAL[type as keyof typeof TERMINAL] : undefined;
}

/**
 * Whether the provider reports that it cancelled the response, which no request of this gateway asks for. Clients do not have such an
 * event: for them a reply that ends so broke off.
 */
export const isCancellation = (type: string): boolean => type === 'response.cancelled' || type === 'response.canceled';

export const TERMINAL_TYPES: ReadonlySet<string> = new Set(Object.keys(TERMINAL));
