// The feed of changes: a connection that listens for the notifications of other processes. While it is down, changes are polled.
import pg from 'pg';
import type { Notice } from '../writing/notice.ts';
import { CHANNEL } from './channel.ts';
import { type DatabaseClock, READ_CLOCK } from './connection/database-clock.ts';
import type { Outage } from './connection/outage.ts';

export interface FeedOptions {
  readonly url: string;
  /** Names this process: its own notifications are ignored. */
  readonly writer: string;
  /** The estimate of the database's clock, measured with every check of the connection. */
  readonly clock: DatabaseClock;
  /** Is informed when the connection is lost. */
  readonly outage: Outage;
  readonly notice: Notice;
}

export interface FeedStats {
  readonly connected: boolean;
  /** How often the connection was lost. */
  readonly losses: number;
}

const CONNECT_MS = 2_000;
/** The interval of the checks. A check without an answer shows that the connection is dead. */
const CHECK_MS = 5_000;
const ANSWER_MS = 2_000;
/** Pauses between attempts to connect. */
const PAUSES_MS = { first: 100, longest: 5_000 } as const;
/** Notifications within this time cause one call. */
const SPACING_MS = 50;

const NOTHING = (): void => undefined;

/** The library's types leave `unref` out. */
type Client = pg.Client & { unref?(): void };

export class PostgresFeed {
  readonly #options: FeedOptions;
  readonly #wake: () => void;
  #closed = false;
  #endPause = NOTHING;
  #connected = false;
  #losses = 0;
  #waking: NodeJS.Timeout | undefined;
  #lastWake = 0;

  /** @param wake called when other processes may have written: after notifications, and after a reconnection */
  constructor(options: FeedOptions, wake: () => void) {
    this.#options = options;
    this.#wake = wake;
    void this.#follow();
  }

  get stats(): FeedStats {
    return { connected: this.#connected, losses: this.#losses };
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#waking);
    this.#endPause();
  }

  async #follow(): Promise<void> {
    let pause: number = PAUSES_MS.first;
    while (!this.#closed) {
      const client: Client = new pg.Client({
        connectionString: this.#options.url,
        application_name: 'poolgate feed',
        connectionTimeoutMillis: CONNECT_MS,
        query_timeout: ANSWER_MS,
        keepAlive: true,
      });
      client.on('error', () => undefined);
      client.on('notification', ({ payload }) => this.#notified(payload));
      try {
        await this.#listen(client);
        pause = PAUSES_MS.first;
        await this.#watch(client);
      } catch {
        // The loop tries again.
      }
      void client.end().catch(() => undefined);
      if (this.#connected) this.#lost();
      await this.#pause(pause);
      pause = Math.min(pause * 2, PAUSES_MS.longest);
    }
  }

  async #listen(client: Client): Promise<void> {
    await client.connect();
    client.unref?.();
    // The name of a channel cannot be a bound value.
    const { rows } = await client.query<{ channel: string }>(`SELECT quote_ident(${CHANNEL}) AS channel`);
    await client.query(`LISTEN ${rows[0]?.channel}`);
    this.#connected = true;
    if (this.#losses > 0) this.#options.notice('store_feed_connected');
    this.#notified(undefined);
  }

  /** Rejects when the connection has ended or does not answer. */
  async #watch(client: Client): Promise<void> {
    const end = (): void => this.#endPause();
    client.once('end', end);
    try {
      while (!this.#closed) {
        await this.#options.clock.measure(async () => Number((await client.query<{ now: string }>(READ_CLOCK)).rows[0]?.now));
        await this.#pause(CHECK_MS);
      }
    } finally {
      client.off('end', end);
    }
  }

  #lost(): void {
    this.#connected = false;
    if (this.#closed) return;
    this.#losses++;
    this.#options.outage.suspect();
    this.#options.notice('store_feed_lost');
  }

  #notified(writer: string | undefined): void {
    if (writer === this.#options.writer || this.#waking || this.#closed) return;
    const wait = Math.max(0, this.#lastWake + SPACING_MS - performance.now());
    this.#waking = setTimeout(() => {
      this.#waking = undefined;
      this.#lastWake = performance.now();
      this.#wake();
    }, wait).unref();
  }

  /** A pause that does not keep the process alive. */
  async #pause(ms: number): Promise<void> {
    if (this.#closed) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#endPause = NOTHING;
  }
}
