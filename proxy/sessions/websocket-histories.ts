// The last input and output of client websockets whose turn an API account served over HTTP. A frame that continues such a turn becomes a
// whole turn, because nothing is stored at such accounts (AA24).
import type { Counters } from '../base/process/metrics.ts';
import { asList, isObject, isText, type Json, type JsonObject } from '../turn/json/json.ts';
import { FinishedItems } from '../turn/reply/finished-output.ts';
import type { ReplyObserver, ReplySource } from '../turn/reply/reply-observer.ts';
import type { Limits } from '../turn/settings.ts';
import { isTrigger } from '../turn/trigger-item.ts';
import type { Body } from '../turn/turn.ts';

/** A client's connection. */
interface Connection {
  /** Calls back once when it is gone; at once if it is gone already. */
  onOver(over: () => void): void;
}

interface History {
  readonly response: string;
  readonly items: readonly Json[];
  /** The bytes of the frames and outputs in the history. */
  readonly bytes: number;
}

/** The input of a frame as it was extended for its turn. */
interface Asked {
  readonly connection: Connection;
  readonly input: readonly Json[];
  readonly bytes: number;
  readonly finished: FinishedItems;
  outputBytes: number;
}

type HistoryLimits = Pick<Limits, 'websocket_history_bytes' | 'websocket_histories_bytes'>;

export class WebsocketHistories {
  readonly observer: ReplyObserver;
  readonly #counters: Counters;
  readonly #limits: () => HistoryLimits;
  /** Histories by connection, the least recently used first. */
  readonly #byConnection = new Map<Connection, History>();
  readonly #asked = new WeakMap<object, Asked>();
  #bytes = 0;

  constructor(counters: Counters, limits: () => HistoryLimits) {
    this.#counters = counters;
    this.#limits = limits;
    this.observer = {
      events: [],
      eventsOf: ({ name }) => (name === 'agent' ? [] : ['response.output_item.done', 'response.completed', 'response.incomplete']),
      event: (source, type, data) => this.#observe(source, type, data),
    };
  }

  /** Bytes of all histories. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The frame as a turn without an anchor, if it continues the connection's last response; otherwise the frame itself. */
  extended(turn: object, frame: Body, frameBytes: number, connection: Connection): Body {
    const known = this.#byConnection.get(connection);
    const continues = known !== undefined && frame.previous_response_id === known.response;
    const own = typeof frame.input === 'string' ? [userMessage(frame.input)] : asList(frame.input);
    const input = continues ? [...known.items, ...own] : own;
    const bytes = frameBytes + (continues ? known.bytes : 0);
    this.#asked.set(turn, { connection, input, bytes, finished: new FinishedItems(), outputBytes: 0 });
    if (!continues) return frame;
    const { previous_response_id: _, ...rest } = frame;
    return { ...rest, input };
  }

  /** Keeps a turn without output that the gateway itself answered. */
  answered(turn: object, response: string): void {
    const asked = this.#asked.get(turn);
    if (asked) this.#keep(asked, response, []);
  }

  /** Drops the history of a connection that has closed. */
  forget(connection: Connection): void {
    const known = this.#byConnection.get(connection);
    if (!known) return;
    this.#byConnection.delete(connection);
    this.#bytes -= known.bytes;
  }

  #observe({ turn, keepResponse }: ReplySource, type: string, data: JsonObject): void {
    if (keepResponse) return;
    const asked = this.#asked.get(turn);
    if (!asked) return;
    if (type === 'response.output_item.done') {
      asked.finished.add(data);
      asked.outputBytes += Buffer.byteLength(JSON.stringify(data.item ?? null));
    } else if (isObject(data.response) && isText(data.response.id)) {
      this.#keep(asked, data.response.id, asList(asked.finished.fill(data.response).output));
    }
  }

  #keep({ connection, input, bytes, outputBytes }: Asked, response: string, output: readonly Json[]): void {
    this.forget(connection);
    const { websocket_history_bytes: most, websocket_histories_bytes: mostOfAll } = this.#limits();
    // A trigger was answered with its compaction, and has no meaning before other items (F3.1).
    const items = [...input.filter((item) => !isTrigger(item)), ...output];
    const history = { response, items, bytes: bytes + outputBytes };
    if (history.bytes > Math.min(most, mostOfAll)) {
      this.#counters.add('websocket_histories_dropped');
      return;
    }
    this.#byConnection.set(connection, history);
    this.#bytes += history.bytes;
    connection.onOver(() => this.forget(connection));
    for (const oldest of this.#byConnection.keys()) {
      if (this.#bytes <= mostOfAll) break;
      this.#counters.add('websocket_histories_dropped');
      this.forget(oldest);
    }
  }
}

const userMessage = (text: string): JsonObject => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] });
