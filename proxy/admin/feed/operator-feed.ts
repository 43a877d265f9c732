// GET /api/events: server-sent events about changes, for open pages. An event names topics and has no data. The page then requests the data
// from the endpoints, which check the rights of the asker.
import { hash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { AdminTarget } from '../admin-target.ts';

const TOPICS = ['accounts', 'requests', 'configuration'] as const;

type Topic = (typeof TOPICS)[number];

/** A short text for each topic, which differs if the topic has changed, and after a restart. */
type States = Readonly<Record<Topic, string>>;

/** What the texts are made from, and how busy the gateway is. */
interface Seen {
  readonly states: States;
  /** A text that differs only after changes that people wait for: of an account's state, or of the configuration. */
  readonly pressing: string;
  /** The number of rows that were written since the start. */
  readonly written: number;
  readonly at: number;
}

/** The interval at which states are compared while a page listens. */
const TICK_MS = 1_000;
/** The number of rows per second above which pages request data less often. People cannot read more rows, and turns need the processor. */
const BUSY_ROWS = 100;
const BUSY_MS = 5_000;
/** The number of ticks without an event after which a comment is sent, so that proxies do not end the connection. */
const QUIET_TICKS = 15;
/** The number of ticks after which a page that does not read is disconnected. It reconnects with the id of its last event. */
const UNREAD_TICKS = 60;
/** The interval at which pages request rows of other nodes. */
const OTHER_NODES_MS = 5_000;
/** The time after which a page reconnects. */
const RETRY_MS = 1_000;

interface Listener {
  readonly stream: Readable;
  /** Whether the sign-in is still valid. */
  readonly isSignedIn: () => boolean;
  /** Topics that changed while the page did not read. */
  readonly missed: Set<Topic>;
  /** The number of ticks without an event. */
  quiet: number;
  /** The number of ticks during which the page did not read. */
  unread: number;
}

export class OperatorFeed {
  readonly #gateway: AdminTarget;
  readonly #listeners = new Set<Listener>();
  /** The state at the last event. */
  #seen: Seen | undefined;
  #isWaiting = false;

  constructor(gateway: AdminTarget) {
    this.#gateway = gateway;
  }

  /**
   * A stream of events that ends when its client leaves or its sign-in ends. Undefined if there are too many.
   * @param last the `Last-Event-ID` of a page that was connected before; changes since then come first
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
    // Changes since the last event of other listeners come with their next event.
    this.#seen ??= seenAt(this.#gateway);
    const { states } = this.#seen;
    stream.push(`retry: ${RETRY_MS}\n${eventOf(states, last === undefined ? [] : changed(statesIn(last), states))}`);
    return stream;
  }

  /** Sets the timer. There is only one, even if a page leaves and another one comes before it has run. */
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
  // The number of rows begins again with each process.
  const process = startedAt.toString(36);
  const { written, failing_since } = store.stats();
  const at = clock.now();
  // Rows of other nodes are only found by asking.
  const others = services.node ? Math.floor(at / OTHER_NODES_MS) : '';
  const { config_reloads, config_reloads_refused } = counters.values;
  const configuration = `${process}.${config_reloads}.${config_reloads_refused}.${failing_since}`;
  return {
    states: { accounts: `${lasting}.${passing}`, requests: `${process}.${written}.${others}`, configuration },
    pressing: `${lasting} ${configuration}`,
    written,
    at,
  };
}

const digestOf = (value: unknown): string => hash('sha256', JSON.stringify(value), 'base64url').slice(0, 10);

/** Whether more rows were written than people can read, and the last event is recent enough. */
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
