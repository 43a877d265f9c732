// GET /api/events: what changed, as server-sent events, for pages that are open. An event names topics and has no data: the page asks for
// that by the endpoints, which know who asks.
import { hash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { AdminTarget } from '../admin-target.ts';

const TOPICS = ['accounts', 'requests', 'configuration'] as const;

type Topic = (typeof TOPICS)[number];

/** By topic, a short text that differs when the topic has changed; other texts after a restart. */
type States = Readonly<Record<Topic, string>>;

/** States are compared so often, while anyone listens. */
const TICK_MS = 1_000;
/** A comment after so many ticks without an event keeps proxies from ending the connection. */
const QUIET_TICKS = 15;
/** Streams at the same time. */
const MOST_STREAMS = 100;
/** How often pages ask for the rows of other nodes. */
const OTHER_NODES_MS = 5_000;
/** How soon a page connects again. */
const RETRY_MS = 1_000;

interface Listener {
  readonly stream: Readable;
  /** Whether the sign-in still holds. */
  readonly isSignedIn: () => boolean;
  quiet: number;
}

export class Feed {
  readonly #gateway: AdminTarget;
  readonly #listeners = new Set<Listener>();
  #states: States | undefined;

  constructor(gateway: AdminTarget) {
    this.#gateway = gateway;
  }

  /**
   * A stream of events that ends with its client or its sign-in; undefined where there are too many.
   * @param last the `Last-Event-ID` of a page that had been connected: what changed since then comes first
   */
  open(last: string | undefined, isSignedIn: () => boolean): Readable | undefined {
    if (this.#listeners.size >= MOST_STREAMS) return undefined;
    const stream = new Readable({ read: () => undefined });
    const listener: Listener = { stream, isSignedIn, quiet: 0 };
    stream.once('close', () => this.#listeners.delete(listener));
    const now = statesOf(this.#gateway);
    if (this.#listeners.size === 0) this.#wait();
    this.#listeners.add(listener);
    this.#states = now;
    stream.push(`retry: ${RETRY_MS}\n${eventOf(now, last === undefined ? [] : changed(statesIn(last), now))}`);
    return stream;
  }

  #wait(): void {
    this.#gateway.services.clock.after(TICK_MS, () => this.#tick());
  }

  #tick(): void {
    if (this.#listeners.size === 0) return;
    this.#wait();
    const now = statesOf(this.#gateway);
    const topics = changed(this.#states, now);
    this.#states = now;
    for (const listener of this.#listeners) this.#send(listener, now, topics);
  }

  #send(listener: Listener, now: States, topics: readonly Topic[]): void {
    const { stream, isSignedIn } = listener;
    if (!isSignedIn()) {
      stream.push(null);
      return;
    }
    listener.quiet = topics.length > 0 ? 0 : listener.quiet + 1;
    // A page that does not read gets the rest when it does: what is missing is named by the id of its last event.
    if (stream.readableLength > 0) return;
    if (topics.length > 0) stream.push(eventOf(now, topics));
    else if (listener.quiet % QUIET_TICKS === 0) stream.push(': still here\n\n');
  }
}

function statesOf({ services, startedAt }: AdminTarget): States {
  const { capacity, clock, counters, store, usage } = services;
  const accounts = hash('sha256', JSON.stringify([capacity.status().accounts, usage.quota.status()]), 'base64url').slice(0, 10);
  // Another process begins to count again.
  const process = startedAt.toString(36);
  // Rows of other nodes are found by asking.
  const others = services.node ? Math.floor(clock.now() / OTHER_NODES_MS) : '';
  return {
    accounts,
    requests: `${process}.${store.stats().written}.${others}`,
    configuration: `${process}.${counters.values.config_reloads}`,
  };
}

const changed = (before: Partial<States> | undefined, now: States): readonly Topic[] =>
  TOPICS.filter((topic) => before?.[topic] !== now[topic]);

const eventOf = (states: States, topics: readonly Topic[]): string =>
  `event: changed\nid: ${TOPICS.map((topic) => states[topic]).join(' ')}\ndata: ${JSON.stringify({ topics })}\n\n`;

function statesIn(id: string): Partial<States> {
  const texts = id.split(' ');
  return Object.fromEntries(TOPICS.map((topic, i) => [topic, texts[i] ?? '']));
}
