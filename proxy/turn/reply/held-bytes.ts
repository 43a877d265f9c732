// Counts the bytes that one turn holds of its reply, with a limit for the turn and a limit over all turns.
import type { MemoryGuard } from '../../base/bytes/memory-guard.ts';
import type { Counters } from '../../base/process/metrics.ts';
import type { JsonObject } from '../json/json.ts';
import { excessOf } from '../json/json-bounds.ts';
import type { Limits } from '../settings.ts';
import type { ReplyEvent } from './reply-event.ts';

/** The copies of a parsed event or answer in memory, besides its bytes: the text, the object, and the text that is written. */
export const PARSED_COPIES = 3;

/** The reply needs more memory than it may have. It ends as a reply that broke off. */
export class TooMuchHeld extends Error {}

export interface ReplyMemory {
  readonly guard: MemoryGuard;
  readonly counters: Counters;
}

export class HeldBytes {
  readonly #memory: ReplyMemory;
  readonly #limits: Limits;
  #bytes = 0;

  constructor(memory: ReplyMemory, limits: Limits) {
    this.#memory = memory;
    this.#limits = limits;
  }

  /** Counts bytes that stay in memory until they are released. @throws TooMuchHeld */
  hold(bytes: number): void {
    this.allow(bytes);
    const { guard, counters } = this.#memory;
    if (!guard.take(bytes, this.#limits.replies_in_memory_bytes)) {
      counters.add('replies_guard_refused');
      throw new TooMuchHeld();
    }
    this.#bytes += bytes;
  }

  /**
   * Checks the limit of the turn for bytes that are needed only for a moment. They are not counted over all turns, because only one turn at
   * a time works.
   * @throws TooMuchHeld
   */
  allow(bytes: number): void {
    if (this.#bytes + bytes > this.#limits.upstream_event_bytes) throw new TooMuchHeld();
  }

  /** Checks the limit of the turn for parsing this event, and the depth and the number of values of its JSON. @throws TooMuchHeld */
  allowParsing({ bytes, start, end, length }: ReplyEvent): void {
    this.allow(PARSED_COPIES * length);
    if (excessOf(bytes, this.#limits.json_values, start, end)) throw new TooMuchHeld();
  }

  /** The data of an event as a JSON object; undefined if the data is not one. @throws TooMuchHeld */
  json(event: ReplyEvent): JsonObject | undefined {
    this.allowParsing(event);
    return event.json();
  }

  release(bytes: number): void {
    this.#bytes -= bytes;
    this.#memory.guard.give(bytes);
  }

  /** Releases all bytes, because the reply or an attempt at it is over. */
  releaseAll(): void {
    this.release(this.#bytes);
  }
}
