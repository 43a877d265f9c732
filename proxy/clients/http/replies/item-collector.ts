// Makes one answer for a client that did not ask for a stream from the events of an account of another API. Other accounts would have
// answered with one body.
import type { JsonObject } from '../../../turn/json/json.ts';
import type { LiveTurn } from '../../../turn/live-turn.ts';
import { FinishedItems } from '../../../turn/reply/finished-output.ts';
import { TERMINAL_TYPES } from '../../../turn/reply/terminal-event.ts';
import type { Collector } from '../../../turn/surface.ts';
import type { Event } from '../../../turn/turn.ts';

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
