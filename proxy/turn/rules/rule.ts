// The interface of a rule. A rule takes part in phases of a turn, in which it may refuse, edit or map.
import type { Refusal } from '../errors/refusal.ts';
import type { StreamedPart } from '../json/form.ts';
import type { JsonObject } from '../json/json.ts';
import type { EventType } from '../reply/event-types.ts';
import type { RouteKind } from '../routes/kinds.ts';
import type { KeyConfig, PoolConfig, ServingMode } from '../settings.ts';
import type { AccountView, Event, Head, ModeDecision, Outcome, Outgoing, Turn, Work } from '../turn.ts';

/**
 * Returned by `request` to run none of this rule's later phases in this turn. It is the only way to leave a turn: a `request` that returns
 * nothing stays in it, with `undefined` as its memory.
 */
export const SKIP: unique symbol = Symbol('skip');

/**
 * The phases of a turn, in their order:
 *
 *     admit → (body is read) → request → (reserve) → edit → (choose an account) → attempt → (send, hold) → reply phases → end
 *
 * A multipart body that streams through has `parts` in the place of `request` and `edit`: its parts after the file come after an account
 * was chosen.
 *
 * `admit`, `request`, `edit`, `parts` and `attempt` run in the order of `RULES`, all later phases in the opposite order. To refuse, throw a
 * `Refusal`; any other throw becomes a fixed 500 whose text never leaves the process.
 *
 * Which reply phases run depends on the kind of the reply:
 *
 * | reply | phases |
 * | --- | --- |
 * | streamed: events to a client that asked for a stream | `head`, `event` for each event that a rule subscribes to |
 * | collected: events, but the client did not ask for a stream | `head`, `event` for each event that a rule subscribes to, `answer` with the final response |
 * | whole: one JSON answer; events too, of a kind whose replies are checked as a whole | `head`, `answer` |
 * | piped: bytes, forwarded unread | `head` |
 * | refused: a status from 400 on, after the last attempt | `refused`; then `head`, where the provider's own answer is relayed |
 *
 * On a collected reply `answer` gets the `response` of the terminal event as `event` left it. A rule that has both phases gets that
 * response twice, and its `answer` changes nothing that its `event` has changed already. Lifecycle events (`response.created`,
 * `response.metadata`, …) have no meaning for a collected answer and are dropped before any rule.
 *
 * A surface with an encoding of its own (Chat) encodes after `event` and `answer`, when every rule has run, in its sink and its `answer`:
 * rules see Responses events on every surface.
 */
export interface Rule<Memory = unknown> {
  /** Kebab case, as in logs, metrics and `explain`. */
  readonly name: string;
  /** Route kinds this rule takes part in; resolved once for each kind. */
  readonly routes: readonly RouteKind[] | '*';
  /** Decides on key, route and headers; the body has not been read. On a websocket: at the upgrade, and again per frame. */
  admit?(turn: Turn): void;
  /**
   * Reads and edits (or replaces) the parsed body once, before an account is chosen. The result is the rule's memory of the turn, which
   * later phases get; `SKIP` ends the rule's part in this turn. It is awaited only if it returns a promise. On a route whose body is not
   * parsed, neither it nor the rule's later phases run.
   */
  request?(work: Work, turn: Turn): Memory | typeof SKIP | Promise<Memory | typeof SKIP>;
  /**
   * Edits the parsed body of a turn that has reserved its usage. No rule can refuse the turn between this phase and the choice of an
   * account, so that work which a refused turn must not cost is done here. It is awaited only if it returns a promise.
   */
  edit?(work: Work, memory: Memory, turn: Turn): void | Promise<void>;
  /**
   * Begins a multipart body that is passed on as a stream. The returned reader gets each part of this turn once. A rule without a `request`
   * keeps its memory of the parts in that reader.
   */
  parts?(turn: Turn): PartReader;
  /** The provider APIs whose attempts it edits. Absent if it edits all attempts. */
  readonly apis?: readonly string[];
  /** Edits this attempt for one account. After a failover it runs again on the same body. */
  attempt?(out: Outgoing, memory: Memory, turn: Turn): void;
  /** The reply's head at commit. Events returned are sent first. */
  head?(head: Head, memory: Memory, turn: Turn): readonly Event[] | undefined;
  /** Called for a provider's final refusal (status 400 and up, nothing shown). It may return another refusal for the client. */
  refused?(refusal: UpstreamRefusal, memory: Memory, turn: Turn): Refusal | undefined;
  /**
   * Event types that `event` gets; a rule has both members or neither. An event that no rule names is forwarded as bytes and never parsed.
   * `agent.*` is the whole family of the backend's own events, even those that other rules name.
   */
  readonly events?: readonly EventType[] | '*';
  /**
   * Maps one reply event to itself (the same object, whose bytes are forwarded), to others, or to nothing (null). The result is passed to
   * the rules that listen to the type of the incoming event.
   */
  event?(event: Event, memory: Memory, turn: Turn): Event | readonly Event[] | null;
  /** Maps the final response of a collected or whole reply. It may throw Refusal until something was shown. */
  answer?(response: JsonObject, memory: Memory, turn: Turn): JsonObject;
  /**
   * Called when the turn ended, exactly once. While the reply is open, it may add closing events, or one Refusal that the client's codec
   * encodes.
   */
  end?(outcome: Outcome, memory: Memory, turn: Turn): readonly (Event | Refusal)[] | undefined;
  /** The effect of this rule on a turn of that key, Pool and model, as `explain` prints it. Undefined if it depends on the body alone. */
  explain?(facts: TurnFacts): string | undefined;
}

/** Reads the parts of one form, in their order. A refusal after the file ends the request to the account. */
export interface PartReader {
  /**
   * Maps a part to itself, to others, or to nothing. The bytes of a file are dropped unless the file is one of the returned parts.
   * @throws Refusal
   */
  part(part: StreamedPart): readonly StreamedPart[];
  /** Called at the end of the form; returns its last parts. @throws Refusal if a part is missing */
  end?(): readonly StreamedPart[];
}

/** The facts that are known of a turn before it is sent. */
export interface TurnFacts {
  readonly pool: PoolConfig;
  readonly key: KeyConfig | undefined;
  /** The exposed id. */
  readonly model: string | undefined;
  /** The model that the client asked for, if its name differs, as with Messages clients. */
  readonly asked?: string | undefined;
  /** Null without a model. */
  readonly mode: ExplainedMode | null;
  /** The model in the running gateway; undefined without the gateway, or without a model. */
  readonly live: { readonly entry: JsonObject | undefined; readonly mode: ModeDecision | undefined } | undefined;
  /** The accounts that are assigned to the Pool, in the order of their assignments. */
  readonly accounts: readonly AccountView[];
}

export interface ExplainedMode {
  readonly configured: ServingMode;
  /** Null if the mode is not resolved, or not known without the running gateway. */
  readonly effective: 'lite' | 'full' | null;
  readonly source: 'catalog' | 'override' | null;
  readonly why: string;
}

/** The content of a provider's final refusal. It is not a Refusal, so that it cannot be forwarded by accident. */
export interface UpstreamRefusal {
  readonly status: number;
  readonly code: string | null;
  readonly param: string | null;
}

/** Lets the compiler infer the type of the memory. */
export const rule = <Memory>(definition: Rule<Memory>): Rule => definition;
