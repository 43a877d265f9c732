// GET /api/events: what changed, as server-sent events, for pages that are open. An event names topics and has no data: the page asks for
// that by the endpoints, which know who asks.
import { hash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { AdminTarget } from '../admin-target.ts';

const TOPICS = ['accounts', 'requests', 'configuration'] as const;

type Topic = (typeof TOPICS)[number];

/** By topic, a short text that differs when the topic has changed; other texts after a restart. */
type States = Readonly<Record<Topic, string>>;

/** What the texts are made of, and how busy the gateway is. */
interface Seen {
  readonly states: States;
  /** Differs only for what people wait for: another state of an account, another configuration. */
  readonly pressing: string;
  /** Rows that were written since the start. */
  readonly written: number;
  readonly at: number;
}

/** States are compared so often, while anyone listens. */
const TICK_MS = 1_000;
/** More rows than this in a second are more than people read: pages ask again less often then, so that turns keep the processor. */
const BUSY_ROWS = 100;
const BUSY_MS = 5_000;
/** A comment after so many ticks without an event keeps proxies from ending the connection. */
const QUIET_TICKS = 15;
/** A page that has not read for so many ticks is disconnected; it comes back with the id of its last event. */
const UNREAD_TICKS = 60;
/** How often pages ask for the rows of other nodes. */
const OTHER_NODES_MS = 5_000;
/** How soon a page connects again. */
const RETRY_MS = 1_000;

interface Listener {
  readonly stream: Readable;
  /** Whether the sign-in still holds. */
  readonly isSignedIn: () => boolean;
  /** Topics that changed while it did not read. */
  readonly missed: Set<Topic>;
  /** Ticks without an event. */
  quiet: number;
  /** Ticks for which it did not read. */
  unread: number;
}

export class OperatorFeed {
  readonly #gateway: AdminTarget;
  readonly #listeners = new Set<Listener>();
  /** As the last event said it. */
  #seen: Seen | undefined;
  #isWaiting = false;

  constructor(gateway: AdminTarget) {
    this.#gateway = gateway;
  }

  /**
   * A stream of events that ends with its client or its sign-in; undefined where there are too many.
   * @param last the `Last-Event-ID` of a page that had been connected: what changed since then comes first
   */
  open(last: string | undefined, isSignedIn: () => boolean): Readable | undefined {
    const { loaded, services } = this.#gateway;
    if (this.#listeners.size >= loaded.config.limits.console_pages) {
      services.counters.add('console_pages_refused');
      return undefined;
    }
    const stream = new Readable({ read: () => undefined });
    const listener: Listener = { stream, isSignedIn, missed: new Set(), quiet: 0, unread: 0 };
    stream.once('close', () => this.#listeners.delete(listener));
    if (this.#listeners.size === 0) this.#seen = undefined;
    this.#listeners.add(listener);
    this.#wait();
    // What changed since the last event of the other listeners is in their next one.
    this.#seen ??= seenAt(this.#gateway);
    const { states } = this.#seen;
    stream.push(`retry: ${RETRY_MS}\n${eventOf(states, last === undefined ? [] : changed(statesIn(last), states))}`);
    return stream;
  }

  /** One timer, also where a page leaves and another one comes before it has run. */
  #wait(): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.#gateway.services.clock.after(TICK_MS, () => this.#tick());
  }

  #tick(): void {
    this.#isWaiting = false;
    if (this.#listeners.size === 0) return;
    this.#wait();
    const now = seenAt(this.#gateway);
    const before = this.#seen ?? now;
    const isDue = now.pressing !== before.pressing || !isBusy(before, now);
    const topics = isDue ? changed(before.states, now.states) : [];
    if (isDue) this.#seen = now;
    for (const listener of this.#listeners) this.#send(listener, now.states, topics);
  }

  #send(listener: Listener, now: States, topics: readonly Topic[]): void {
    const { stream, isSignedIn } = listener;
    if (!isSignedIn()) {
      stream.push(null);
      return;
    }
    for (const topic of topics) listener.missed.add(topic);
    // At most one event waits for a page that does not read.
    if (stream.readableLength > 0) {
      listener.unread += 1;
      if (listener.unread < UNREAD_TICKS) return;
      this.#gateway.services.counters.add('console_pages_stalled');
      this.#listeners.delete(listener);
      stream.destroy();
      return;
    }
    listener.unread = 0;
    listener.quiet = listener.missed.size > 0 ? 0 : listener.quiet + 1;
    if (listener.missed.size > 0) stream.push(eventOf(now, [...listener.missed]));
    else if (listener.quiet % QUIET_TICKS === 0) stream.push(': still here\n\n');
    listener.missed.clear();
  }
}

function seenAt({ services, startedAt }: AdminTarget): Seen {
  const { capacity, clock, counters, store, usage } = services;
  const { accounts } = capacity.status();
  const lasting = digestOf([
    accounts.map(({ inFlight: _, lastFailure: _failure, ...state }) => state),
    usage.quota.status().map(({ status }) => status),
  ]);
  const passing = digestOf([accounts.map(({ inFlight, lastFailure }) => [inFlight, lastFailure?.at]), usage.quota.status()]);
  // Another process begins to count again.
  const process = startedAt.toString(36);
  const { written } = store.stats();
  const at = clock.now();
  // Rows of other nodes are found by asking.
  const others = services.node ? Math.floor(at / OTHER_NODES_MS) : '';
  const configuration = `${process}.${counters.values.config_reloads}`;
  return {
    states: { accounts: `${lasting}.${passing}`, requests: `${process}.${written}.${others}`, configuration },
    pressing: `${lasting} ${configuration}`,
    written,
    at,
  };
}

const digestOf = (value: unknown): string => hash('sha256', JSON.stringify(value), 'base64url').slice(0, 10);

/** Whether more was written since than people read, and the last event is new enough. */
function isBusy(before: Seen, now: Seen): boolean {
  const elapsed = now.at - before.at;
  return elapsed < BUSY_MS && now.written - before.written > (BUSY_ROWS * Math.max(elapsed, TICK_MS)) / 1_000;
}

const changed = (before: Partial<States> | undefined, now: States): readonly Topic[] =>
  TOPICS.filter((topic) => before?.[topic] !== now[topic]);

const eventOf = (states: States, topics: readonly Topic[]): string =>
  `event: changed\nid: ${TOPICS.map((topic) => states[topic]).join(' ')}\ndata: ${JSON.stringify({ topics })}\n\n`;

function statesIn(id: string): Partial<States> {
  const texts = id.split(' ');
  return Object.fromEntries(TOPICS.map((topic, i) => [topic, texts[i] ?? '']));
}
