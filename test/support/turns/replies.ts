// Reads a reply of an account without a gateway: the product's readers with a fake account, a fake client and a test clock.
import { Counters } from '../../../proxy/base/process/metrics.ts';
import type { Client, PipeEnd } from '../../../proxy/dispatch/client.ts';
import type { ReplyContext, Verdict } from '../../../proxy/dispatch/reply/reply-context.ts';
import { AttemptObservers } from '../../../proxy/dispatch/reply/reply-observers.ts';
import { agentApi } from '../../../proxy/providers/agent/agent-api.ts';
import type { Continuation } from '../../../proxy/turn/continuation.ts';
import { type Failure, isRetryable } from '../../../proxy/turn/errors/failure.ts';
import type { Refusal } from '../../../proxy/turn/errors/refusal.ts';
import type { Confidential } from '../../../proxy/turn/errors/sanitise.ts';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import type { LiveTurn } from '../../../proxy/turn/live-turn.ts';
import type { ReplyEvent } from '../../../proxy/turn/reply/reply-event.ts';
import type { ReplyObserver } from '../../../proxy/turn/reply/reply-observer.ts';
import type { Sink } from '../../../proxy/turn/reply/sink.ts';
import type { Event, Outcome } from '../../../proxy/turn/turn.ts';
import type { EventReader, Sending } from '../../../proxy/upstream/carriers/carrier.ts';
import { SseSplitter } from '../../../proxy/upstream/events/sse-splitter.ts';
import { account } from '../../models/support.ts';

/** An event as SSE. */
export const sse = (type: string, more: JsonObject = {}): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;

/** The events of a minimal reply. */
export const CREATED = sse('response.created', { sequence_number: 0, response: { id: 'resp_1', output: [] } });
export const delta = (n: number): string => sse('response.output_text.delta', { sequence_number: n, delta: `word ${n}` });
export const COMPLETED = sse('response.completed', { sequence_number: 9, response: { id: 'resp_1', status: 'completed', output: [1] } });

/** The account of a reply. It records what dispatch does with it. */
class Account implements Sending {
  paused = false;
  aborted = false;
  /** The calls in order. */
  readonly calls: string[] = [];

  pause(): void {
    this.paused = true;
    this.calls.push('pause');
  }

  resume(): void {
    this.paused = false;
    this.calls.push('resume');
  }

  abort(): void {
    this.aborted = true;
    this.calls.push('abort');
  }
}

/** Delivers bytes to a reader of events like the HTTP carrier, in one call for each read of the connection. */
export class Wire {
  readonly #reader: EventReader;
  readonly #splitter: SseSplitter;

  constructor(reader: EventReader) {
    this.#reader = reader;
    this.#splitter = new SseSplitter(reader.memory, (event) => reader.event(event));
  }

  /** Delivers one read. Resolves when everything that it caused has been written. */
  async read(text: string | Buffer): Promise<void> {
    this.#splitter.push(typeof text === 'string' ? Buffer.from(text) : text);
    this.#reader.delivered();
    await written();
  }

  /** Ends the connection in order. */
  async end(): Promise<void> {
    this.#splitter.end();
    this.#reader.end();
    await written();
  }
}

/** Resolves when gathered writes were made, which happens in a microtask. */
const written = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const NOTHING: Continuation = { hard: undefined, soft: undefined, session: undefined, affinity: undefined, states: new Map() };

export interface SinkOptions {
  readonly wants?: readonly string[];
  readonly drops?: readonly string[];
  /** Whether written events count as shown. False for a collected answer. */
  readonly shows?: boolean;
  /** The refusal that `conclude` throws. */
  readonly refuses?: Refusal;
  /** How much of each event is checked to be a JSON object. */
  readonly objectCheck?: Sink['objectCheck'];
}

/** Records the calls of a sink, one line for each. */
export class RecordingSink implements Sink {
  readonly calls: string[] = [];
  /** The bytes of raw events as views, not copies. */
  readonly views: Buffer[] = [];
  readonly wants: ReadonlySet<string>;
  readonly drops: ReadonlySet<string>;
  readonly collects: boolean;
  readonly objectCheck: Sink['objectCheck'];
  /** Whether the client is ready. If set to false, it is slow. */
  ready = true;
  resume: () => void = () => undefined;
  readonly #options: SinkOptions;
  #open = false;

  constructor(options: SinkOptions = {}) {
    this.wants = new Set(options.wants);
    this.drops = new Set(options.drops);
    this.collects = options.shows === false;
    this.objectCheck = options.objectCheck ?? 'none';
    this.#options = options;
  }

  get shown(): boolean {
    return this.#open && (this.#options.shows ?? true);
  }

  open(status: number): void {
    this.#open = true;
    this.calls.push(`open ${status}`);
  }

  raw(event: ReplyEvent): void {
    this.calls.push(`raw ${event.type || 'untyped'}`);
    this.views.push(event.bytes.subarray(event.start, event.end));
  }

  event({ type, data }: Event): void {
    this.calls.push(`event ${type} ${JSON.stringify(data)}`);
  }

  renumber(): void {
    this.calls.push('renumber');
  }

  flush(): boolean {
    this.calls.push('flush');
    return this.ready;
  }

  onDrain(resume: () => void): void {
    this.resume = resume;
  }

  conclude(outcome: Outcome, refusal: () => Refusal): void {
    this.calls.push(`conclude ${outcome.kind}`);
    if (this.#options.refuses) throw this.#options.refuses;
    if (this.#options.shows === false && outcome.kind === 'failed') throw refusal();
  }

  close(closing: readonly (Event | Refusal)[], outcome: Outcome): void {
    this.calls.push(`close ${outcome.kind} ${closing.length}`);
  }

  cut(): void {
    this.calls.push('cut');
  }

  /** All bytes of raw events. */
  get bytes(): string {
    return Buffer.concat(this.views).toString();
  }

  /** The calls without flushes. */
  get shownCalls(): readonly string[] {
    return this.calls.filter((call) => call !== 'flush');
  }
}

export interface RecordedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string;
}

export interface ClientOptions {
  readonly streams?: boolean;
  readonly sink?: Sink;
}

/** A client that keeps its answer. */
export class RecordingClient implements Client {
  readonly streams: boolean;
  readonly answers: RecordedAnswer[] = [];
  readonly #sink: Sink;
  #left: (() => void) | undefined;

  constructor({ streams = true, sink = new RecordingSink() }: ClientOptions = {}) {
    this.streams = streams;
    this.#sink = sink;
  }

  sink(): Sink {
    return this.#sink;
  }

  answer(status: number, headers: Readonly<Record<string, string>>, body: Buffer | string): void {
    this.answers.push({ status, headers, body });
  }

  pipe(): Promise<PipeEnd> {
    throw new Error('this client is given no pipe');
  }

  onGone(left: () => void): () => void {
    this.#left = left;
    return () => {
      this.#left = undefined;
    };
  }

  /** Makes the client leave. */
  leave(): void {
    const left = this.#left;
    this.#left = undefined;
    left?.();
  }
}

export interface ContextOptions {
  readonly observer?: ReplyObserver;
  /** Default: decided by the cause, as dispatch does while accounts are left. */
  readonly keepsBack?: (failure: Failure) => boolean;
}

/** The context of a reply, which records its calls. */
export class RecordingContext implements ReplyContext {
  readonly turn: LiveTurn;
  readonly provider = agentApi;
  readonly counters = new Counters();
  readonly observers: AttemptObservers;
  readonly known: Confidential = { secrets: () => ['bearer-of-north'], prompt: () => 'a prompt' };
  readonly keepsBack: (failure: Failure) => boolean;
  readonly account = new Account();
  readonly verdicts: Verdict[] = [];
  readonly counted: string[] = [];
  commits = 0;

  constructor(turn: LiveTurn, { observer, keepsBack = isRetryable }: ContextOptions = {}) {
    this.turn = turn;
    this.keepsBack = keepsBack;
    const observers = observer ? [observer] : [];
    const byType = new Map((observer?.events ?? []).map((type) => [type.replace('<agent>', turn.wire.agent), observers]));
    this.observers = new AttemptObservers(observers, byType, {
      turn,
      account: account('north'),
      provider: agentApi,
      continuation: NOTHING,
      keepResponse: undefined,
      isUnstored: false,
    });
  }

  readonly sending: Sending = this.account;
  readonly countOutput = ({ type }: ReplyEvent): void => void this.counted.push(type);
  readonly outputCap = undefined;
  readonly estimateUsage = (): undefined => undefined;
  readonly followUp = undefined;
  endUpload(): void {}
  readonly committed = (): void => {
    this.commits += 1;
  };
  readonly settle = (verdict: Verdict): void => void this.verdicts.push(verdict);
  asBytes(): never {
    throw new Error('these bodies are streams of events');
  }

  /** The only verdict so far. */
  get verdict(): Verdict | undefined {
    if (this.verdicts.length > 1) throw new Error('the reply was settled twice');
    return this.verdicts[0];
  }

  /** The verdict as one line. */
  get ended(): string | undefined {
    const { verdict } = this;
    switch (verdict?.kind) {
      case 'done':
        return `done ${verdict.ending.outcome.kind} ${verdict.ending.status} ${verdict.ending.code}${verdict.failure ? ` (${verdict.failure.cause})` : ''}`;
      case 'failed':
        return `failed ${verdict.failure.cause} ${verdict.failure.error.code}`;
      case 'refused':
        return `refused ${verdict.refusal.status} ${verdict.refusal.error.code} ${verdict.outcome}`;
      case 'gone':
        return `gone ${verdict.shown ? 'after' : 'before'} the first byte`;
      default:
        return undefined;
    }
  }

  /** Ends the client's reply like the turn runner, after the end phases of the rules. */
  close(): void {
    const { verdict } = this;
    if (verdict?.kind !== 'done') throw new Error(`the reply is not done: ${this.ended}`);
    verdict.close(this.turn.rules.end(verdict.ending.outcome, (thrown) => this.turn.fault(thrown)));
  }
}
