// The one interface of all policy: a rule takes part in phases of a turn, and may refuse, edit or map.

import type { JsonObject } from '../proxy/turn/json.ts';
import type { RouteKind } from '../proxy/turn/kinds.ts';
import type { Refusal } from '../proxy/turn/refusal.ts';
import type { Event, Head, Outcome, Outgoing, Turn, Work } from '../proxy/turn/turn.ts';

/**
 * admit → (body read) → request → (reserve, choose) → attempt → (send, hold) → head → event → answer → end.
 * Downward phases run in the order of `RULES`, those of the reply (from head on) in the opposite order.
 * To refuse, throw a `Refusal`; any other throw becomes a fixed 500 whose text never leaves the process.
 */
export interface Rule<Memory = unknown> {
  /** Kebab case, as in logs, metrics and `explain`. */
  readonly name: string;
  /** Route kinds this rule takes part in; resolved once, when the route table is compiled. */
  readonly routes: readonly RouteKind[] | '*';
  /** Decides on key, route and headers; the body has not been read. On a websocket: at the upgrade, and again per frame. */
  admit?(turn: Turn): void;
  /**
   * Reads and edits the parsed body (or replaces it) once, before an account is chosen. What it returns is the rule's memory of
   * the turn; undefined means no interest in attempts or the reply. Awaited only when it returns a promise.
   */
  request?(work: Work, turn: Turn): Memory | undefined | Promise<Memory | undefined>;
  /** Edits this attempt for one account; on failover it runs again from the same start. */
  attempt?(out: Outgoing, memory: Memory, turn: Turn): void;
  /** The reply's head at commit. Events returned go first. */
  head?(head: Head, memory: Memory, turn: Turn): readonly Event[] | undefined;
  /** A provider's final refusal (status 400 and up, nothing shown): may return the refusal the client gets instead. */
  refused?(refusal: UpstreamRefusal, memory: Memory, turn: Turn): Refusal | undefined;
  /** Event types that `event` wants; `<agent>.*` is the backend's own family. All others are forwarded as bytes, never parsed. */
  readonly events?: readonly string[] | '*';
  /** Maps one reply event to itself (the same object: forwarded as it came), to others, or to nothing (null). */
  event?(event: Event, memory: Memory, turn: Turn): Event | readonly Event[] | null;
  /** Maps a collected reply (a JSON answer). May throw Refusal until something was shown. */
  answer?(response: JsonObject, memory: Memory, turn: Turn): JsonObject;
  /**
   * The reply ended. May add closing events, or one Refusal that the client's codec encodes, while the reply is open.
   * Runs exactly once.
   */
  end?(outcome: Outcome, memory: Memory, turn: Turn): readonly (Event | Refusal)[] | undefined;
}

/** What a provider's terminal refusal says of itself; never forwarded by accident, since it is not a Refusal. */
export interface UpstreamRefusal {
  readonly status: number;
  readonly code: string | null;
  readonly param: string | null;
}

/** Fixes Memory by inference. A rule without `request` always listens; one with it listens when it returned memory. */
export const rule = <Memory>(definition: Rule<Memory>): Rule => definition;
