// One node of the stage: a process that reaches its database through a separate proxy, and the record of its disasters.
import type { Draft } from '../../support/gateway.ts';
import type { PostgresServer } from '../../support/postgres/postgres.ts';
import { Link } from '../../support/postgres/postgres-link.ts';
import { type Ended, ServeProcess } from '../../support/program/process.ts';
import { until } from '../../support/until.ts';

/** The longest start on a busy machine, including the wait for the name of a killed process. */
const READY_MS = 120_000;

/** Matches the output of a start that cannot reach its database. */
const NO_DATABASE = /ended with 1: .*store postgres:.*PostgreSQL: /s;

interface LogLine {
  readonly level: string;
  readonly event: string;
}

/** A period on the monotonic clock. */
export interface Span {
  readonly from: number;
  /** The end. Infinite while the period lasts. */
  to: number;
}

/** One process of the node. */
export interface Life {
  readonly node: string;
  readonly process: ServeProcess;
  readonly url: string;
  readonly adminUrl: string;
  /** When the process was killed, or asked to stop. */
  endedAt: number;
  killed: boolean;
  /** Whether the stage ended the process. */
  wasEnded: boolean;
}

export interface MemberOptions {
  readonly name: string;
  readonly server: PostgresServer;
  /** The URL of the database. */
  readonly database: string;
  readonly draft: Draft;
}

export class Member {
  readonly name: string;
  readonly link: Link;
  readonly #options: MemberOptions;
  /** All processes so far. */
  readonly lives: Life[] = [];
  readonly #paused: Span[] = [];
  /** The periods in which the node could not reach its database. */
  readonly cutOff: Span[] = [];
  /** Whether a load balancer sends clients to it. */
  isServing = false;
  #names = 0;

  private constructor(options: MemberOptions, link: Link) {
    this.name = options.name;
    this.link = link;
    this.#options = options;
  }

  static async open(options: MemberOptions): Promise<Member> {
    return new Member(options, await Link.open(options.database));
  }

  get life(): Life {
    const last = this.lives.at(-1);
    if (!last) throw new Error(`${this.name} was not started`);
    return last;
  }

  /**
   * Starts the node like a supervisor: again if it ended because its database is not available.
   * @param name the name of the process; the same name waits until the lease of a killed process has expired
   */
  async start(name: 'same' | 'another' = 'same'): Promise<void> {
    if (name === 'another') this.#names += 1;
    const id = this.#names === 0 ? this.name : `${this.name}-${this.#names}`;
    for (const end = performance.now() + READY_MS; ; ) {
      try {
        await this.#start(id);
        break;
      } catch (error) {
        if (!(error instanceof Error && NO_DATABASE.test(error.message)) || performance.now() > end) throw error;
      }
    }
    await until(`${id} to be ready`, async () => ((await fetch(`${this.life.adminUrl}/readyz`)).ok ? true : undefined), READY_MS);
    this.isServing = true;
  }

  async #start(id: string): Promise<void> {
    const { draft, server, database } = this.#options;
    const node = { id, listen: { host: '127.0.0.1', port: 0 }, secret: { env: 'NODE_SECRET' } };
    const secrets = { TORTURE_BEARER: 'bearer-of-the-torture', NODE_SECRET: 'secret-of-the-nodes' };
    const process = await ServeProcess.start({ ...draft, ...server.settings(this.link.url(database)), node }, secrets);
    const { main, admin } = await process.addresses().catch(async (error: unknown) => {
      await process[Symbol.asyncDispose]();
      throw error;
    });
    const life: Life = { node: id, process, url: main, adminUrl: admin, endedAt: Number.POSITIVE_INFINITY, killed: false, wasEnded: false };
    void process.ended.then(() => {
      life.endedAt = Math.min(life.endedAt, performance.now());
    });
    this.lives.push(life);
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<Ended> {
    const { life } = this;
    this.isServing = false;
    life.wasEnded = true;
    life.killed = signal === 'SIGKILL';
    life.endedAt = performance.now();
    life.process.signal(signal);
    const ended = await life.process.ended;
    await life.process[Symbol.asyncDispose]();
    return ended;
  }

  pause(): void {
    this.#paused.push({ from: performance.now(), to: Number.POSITIVE_INFINITY });
    this.life.process.signal('SIGSTOP');
  }

  resume(): void {
    const span = this.#paused.at(-1);
    if (span) span.to = performance.now();
    this.life.process.signal('SIGCONT');
  }

  /** How long the node was paused in this period, in milliseconds. */
  pausedWithin({ from, to }: Span): number {
    return this.#paused.reduce((sum, span) => sum + Math.max(0, Math.min(to, span.to) - Math.max(from, span.from)), 0);
  }

  // biome-ignore lint/suspicious/noExplicitAny: readers look where they expect something
  async status(): Promise<any> {
    return (await fetch(`${this.life.adminUrl}/api/status`, { signal: AbortSignal.timeout(10_000) })).json();
  }

  async close(): Promise<void> {
    this.link.close();
    if (this.life.endedAt !== Number.POSITIVE_INFINITY) return;
    this.life.process.signal('SIGCONT');
    await this.end('SIGKILL');
  }
}

/** The log lines of a process, and its other output. */
export function writtenBy({ process }: Life): { readonly log: readonly LogLine[]; readonly other: readonly string[] } {
  const lines = process.log.split('\n').filter((line) => line !== '');
  const log = lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as LogLine);
  return { log, other: lines.filter((line) => !line.startsWith('{')) };
}
