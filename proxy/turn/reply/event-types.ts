// The types of reply events that rules subscribe to, and how they are spelled on one deployment's wire.
import type { WireWords } from '../settings.ts';

/**
 * The event types in one spelling. `agent` is replaced with the deployment's own word (`wire.agent`), in the names of single events and in
 * the family. A rule can subscribe only to types in this list.
 */
export const EVENT_TYPES = [
  'response.created',
  'response.queued',
  'response.in_progress',
  'response.metadata',
  'response.output_item.added',
  'response.output_item.done',
  'response.completed',
  'response.incomplete',
  'response.failed',
  'image_generation.completed',
  'image_edit.completed',
  'keepalive',
  'agent.rate_limits',
  'agent.response.metadata',
] as const;

/** Every event of the backend's own family, whether a rule names it or not. */
export const AGENT_FAMILY = 'agent.*';

/** The types that a rule's `events` may name: a misspelt type does not compile. */
export type EventType = (typeof EVENT_TYPES)[number] | typeof AGENT_FAMILY;

const NEUTRAL_PREFIX = 'agent.';

/** The prefix of every type of the family on the wire. */
export const familyPrefix = ({ agent }: WireWords): string => `${agent}.`;

/** The type as the deployment's accounts send it. */
export function wireType(type: EventType, wire: WireWords): string {
  return type.startsWith(NEUTRAL_PREFIX) ? familyPrefix(wire) + type.slice(NEUTRAL_PREFIX.length) : type;
}

/** Events that both successful and failed turns have. They show nothing of the work. */
export const LIFECYCLE: ReadonlySet<string> = new Set([
  'response.created',
  'response.queued',
  'response.in_progress',
  'response.metadata',
  'keepalive',
]);
