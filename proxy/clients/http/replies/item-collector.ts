// The answer to a turn without a stream of a client whose account would have answered it whole, where an account of another API sends events.
import type { JsonObject } from '../../../turn/json/json.ts';
import type { LiveTurn } from '../../../turn/live-turn.ts';
import { FinishedItems } from '../../../turn/reply/finished-output.ts';
import { TERMINAL_TYPES } from '../../../turn/reply/terminal-event.ts';
import type { Collector } from '../../../turn/surface.ts';
import type { Event } from '../../../turn/turn.ts';

const DONE = 'response.output_item.done';

/** An item is kept, and is written once more. */
const COPIES = 2;

/** Compatible servers end their streams with an output that is not whole (RB17). */
export class ItemCollector implements Collector {
  readonly wants: ReadonlySet<string> = new Set([DONE, ...TERMINAL_TYPES]);
  readonly #held: LiveTurn['held'];
  readonly #items = new FinishedItems();

  constructor({ held }: Pick<LiveTurn, 'held'>) {
    this.#held = held;
  }

  raw(): void {
    // Only finished items are needed, and those come parsed.
  }

  event({ type, data, size = 0 }: Event): void {
    if (type === DONE && this.#items.add(data)) this.#held.hold(COPIES * size);
  }

  answer(response: JsonObject): JsonObject {
    return this.#items.fill(response);
  }
}
