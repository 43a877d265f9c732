// Turns the events of one item of an account's reply into blocks of the client's message.
import type { JsonObject } from '../../../turn/json/json.ts';
import type { Losses } from '../../../turn/reply/sent-text.ts';
import type { LaneMemory } from './lanes.ts';

/** How the client gets reasoning: as text, as signed blocks without text, or not at all (AM35). */
export type ThinkingDisplay = 'text' | 'omitted' | 'none';

export interface ItemOptions {
  readonly thinking: ThinkingDisplay;
  /** The client's name of a tool, from the name that the account has for it (AM43). */
  readonly clientName: (upstream: string) => string;
  readonly memory: LaneMemory;
  readonly losses: Losses;
}

/** The texts of an item that are sent in deltas. */
export type DeltaKind = 'text' | 'refusal' | 'summary' | 'reasoning' | 'arguments';

/** The blocks of an item. Its events come in order, and the items of a reply come one after another. */
export interface ItemBlocks {
  /** @param part the number of the part inside the item; 0 if the item has no parts */
  delta?(kind: DeltaKind, part: number, text: Buffer): void;
  /** @param finished the part in the event that ends it */
  partDone?(part: number, finished: JsonObject | undefined): void;
  annotation?(part: number, annotation: JsonObject): void;
  /** Called with the finished item. What no delta contained is written now. */
  done(item: JsonObject): void;
  /** Called if the reply ended inside the item. */
  cut(): void;
}
