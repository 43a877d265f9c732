// The head of a reply, which is held before commit. It consists of events that show nothing of the work, so a refusal after them can
// be retried.
import type { JsonObject } from '../../../turn/json/json.ts';
import { LIFECYCLE } from '../../../turn/reply/event-types.ts';
import { type HeldBytes, PARSED_COPIES } from '../../../turn/reply/held-bytes.ts';
import type { ReplyEvent } from '../../../turn/reply/reply-event.ts';
import type { HeldEvents } from '../../../turn/reply/reply-observer.ts';

/** The largest head that is held. */
const HELD_BYTES = 1_048_576;
/** The memory of a held event besides its buffer. It matters because a comment may have one byte (Q38). */
const HELD_EVENT_BYTES = 256;

/** Whether an event of this type is held before commit. Comments (no data) are held too. */
export function isHeld(type: string, hasData: boolean): boolean {
  return !hasData || LIFECYCLE.has(type) || type.endsWith('.response.metadata') || type.endsWith('.rate_limits');
}

/** A held event, with its data if an observer has read them. */
export interface HeldEvent {
  readonly event: ReplyEvent;
  readonly data: JsonObject | undefined;
}

export class HeldHead implements HeldEvents {
  readonly #memory: Pick<HeldBytes, 'hold' | 'release'>;
  #events: HeldEvent[] = [];
  #bytes = 0;

  constructor(memory: Pick<HeldBytes, 'hold' | 'release'>) {
    this.#memory = memory;
  }

  /** @param event a view, which is copied @returns false for an event that shows something, or that exceeds the limit */
  hold(event: ReplyEvent, data: JsonObject | undefined): boolean {
    if (!isHeld(event.type, event.hasData) && !event.isDone()) return false;
    // A view keeps the whole buffer of the event in memory. Events that came together share it.
    const { buffer } = event.bytes;
    const shared = this.#events.at(-1)?.event.bytes.buffer === buffer;
    const bytes = HELD_EVENT_BYTES + (shared ? 0 : buffer.byteLength) + (data ? PARSED_COPIES * event.length : 0);
    this.#memory.hold(bytes);
    this.#bytes += bytes;
    if (this.#bytes > HELD_BYTES) return false;
    this.#events.push({ event: event.copy(), data });
    return true;
  }

  has(type: string): boolean {
    return this.#events.some(({ event }) => event.type === type);
  }

  find(type: string): ReplyEvent | undefined {
    return this.#events.find(({ event }) => event.type === type)?.event;
  }

  /** Returns the events, and holds none afterwards. */
  release(): readonly HeldEvent[] {
    const events = this.#events;
    this.#events = [];
    this.#memory.release(this.#bytes);
    this.#bytes = 0;
    return events;
  }
}
