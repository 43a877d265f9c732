// The client of a test's turn. It keeps what the report needs from the reply, and writes nothing.
import type { Client } from '../../dispatch/client.ts';
import { isObject, type JsonObject } from '../../turn/json/json.ts';
import type { Sink } from '../../turn/reply/sink.ts';
import { TERMINAL_TYPES } from '../../turn/reply/terminal-event.ts';
import type { Event } from '../../turn/turn.ts';

const ITEM_DONE = 'response.output_item.done';
const WANTED: ReadonlySet<string> = new Set([...TERMINAL_TYPES, ITEM_DONE]);

export class TestClient implements Client, Sink {
  readonly streams = true;
  readonly wants = WANTED;
  readonly drops: ReadonlySet<string> = new Set();
  readonly collects = false;
  readonly objectCheck = 'parse';
  readonly shown = false;
  /** When the first event came that shows something. */
  firstEventAt: number | undefined;
  /** The response in the terminal event. */
  response: JsonObject | undefined;
  readonly items: JsonObject[] = [];
  readonly #now: () => number;
  #left: (() => void) | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Ends the turn, because it takes too long. */
  leave(): void {
    this.#left?.();
  }

  sink(): Sink {
    return this;
  }

  onGone(left: () => void): () => void {
    this.#left = left;
    return () => {
      this.#left = undefined;
    };
  }

  answer(_status: number, _headers: Readonly<Record<string, string>>, body: Buffer | string): void {
    this.firstEventAt ??= this.#now();
    const json: unknown = JSON.parse(String(body));
    if (isObject(json)) this.response = json;
  }

  pipe(): never {
    throw new Error('no reply of a test is piped');
  }

  open(): void {
    this.firstEventAt ??= this.#now();
  }

  raw(): void {
    // Such events are not in the report.
  }

  event({ type, data }: Event): void {
    if (TERMINAL_TYPES.has(type)) this.response = isObject(data.response) ? data.response : data;
    else if (isObject(data.item)) this.items.push(data.item);
  }

  renumber(): void {
    // Sequence numbers are not shown.
  }

  flush(): boolean {
    return true;
  }

  onDrain(): void {
    // The test reads at once.
  }

  conclude(): void {
    // The report reads the outcome from the verdict.
  }

  close(): void {
    // There is no connection to close.
  }

  cut(): void {
    // There is no connection to cut.
  }
}
