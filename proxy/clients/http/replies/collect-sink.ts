// The sink of a client that did not ask for a stream. It collects the reply and sends it as one JSON answer (Q15). For an account of
// another API the answer is made of the items, where other accounts would have answered with one body.
import type { Client } from '../../../dispatch/client.ts';
import { Refusal } from '../../../turn/errors/refusal.ts';
import { isObject, type JsonObject } from '../../../turn/json/json.ts';
import type { LiveTurn } from '../../../turn/live-turn.ts';
import { LIFECYCLE } from '../../../turn/reply/event-types.ts';
import { FinishedItems } from '../../../turn/reply/finished-output.ts';
import type { ReplyEvent } from '../../../turn/reply/reply-event.ts';
import { replyText } from '../../../turn/reply/reply-text.ts';
import type { Sink } from '../../../turn/reply/sink.ts';
import { TERMINAL_TYPES } from '../../../turn/reply/terminal-event.ts';
import type { Collector } from '../../../turn/surface.ts';
import type { Event, Outcome } from '../../../turn/turn.ts';

export class CollectSink implements Sink {
  readonly wants: Sink['wants'];
  readonly drops = LIFECYCLE;
  readonly collects = true;
  readonly objectCheck = 'braces';
  readonly shown = false;
  readonly #turn: LiveTurn;
  readonly #client: Client;
  #status = 200;
  #headers: Readonly<Record<string, string>> = {};
  #terminal: Event | undefined;
  /** Set on a surface whose answers are made from events. */
  readonly #collector: Collector | undefined;
  #answer = '';

  /** @param collector the collector of the turn's surface, if it has one */
  constructor(turn: LiveTurn, client: Client, collector: Collector | undefined) {
    this.#turn = turn;
    this.#client = client;
    this.#collector = collector;
    this.wants = this.#collector?.wants ?? TERMINAL_TYPES;
  }

  get satisfied(): boolean {
    return this.#collector?.satisfied ?? false;
  }

  open(status: number, headers: Readonly<Record<string, string>>): void {
    this.#status = status;
    this.#headers = headers;
  }

  /** Without a collector the answer is the response in the terminal event. */
  raw(event: ReplyEvent): void {
    this.#collector?.raw(event);
  }

  event(event: Event): void {
    if (TERMINAL_TYPES.has(event.type)) this.#terminal ??= event;
    else this.#collector?.event(event);
  }

  lost(): void {
    this.#collector?.lost?.();
  }

  renumber(): void {
    // A collected answer has no sequence numbers.
  }

  flush(): boolean {
    return true;
  }

  onDrain(): void {
    // Nothing is written before the end.
  }

  conclude(outcome: Outcome, refusal: () => Refusal): void {
    const terminal = this.#terminal;
    if (!terminal || outcome.kind === 'cut') throw new Refusal('upstream_error');
    if (outcome.kind === 'failed') throw refusal();
    const { response } = terminal.data;
    if (!isObject(response)) throw new Refusal('upstream_error');
    this.#answer = replyText(this.#turn.answerOf(response, this.#collector));
  }

  close(_closing: readonly (Event | Refusal)[], _outcome: Outcome): void {
    this.#client.answer(this.#status, { ...this.#headers, 'content-type': 'application/json' }, this.#answer);
  }

  cut(): void {
    this.close([], { kind: 'cut', shown: false });
  }
}

const DONE = 'response.output_item.done';

/** The copies of an item in memory: it is kept, and written once more. */
const COPIES = 2;

/** Collects finished items, because compatible servers may end their streams with an incomplete output (RB17). */
export class ItemCollector implements Collector {
  readonly wants: ReadonlySet<string> = new Set([DONE, ...TERMINAL_TYPES]);
  readonly #held: LiveTurn['held'];
  readonly #items = new FinishedItems();

  constructor({ held }: Pick<LiveTurn, 'held'>) {
    this.#held = held;
  }

  raw(): void {
    // Unparsed events are not needed, because finished items come parsed.
  }

  event({ type, data, size = 0 }: Event): void {
    if (type === DONE && this.#items.add(data)) this.#held.hold(COPIES * size);
  }

  answer(response: JsonObject): JsonObject {
    return this.#items.fill(response);
  }
}
