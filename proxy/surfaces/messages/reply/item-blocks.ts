// What the events of an item of an account's reply become: blocks of the client's message.
import type { JsonObject } from '../../../turn/json/json.ts';
import type { Losses } from '../../../turn/reply/sent-text.ts';
import type { LaneMemory } from './lanes.ts';

/** How the client gets reasoning: as text, as signed blocks without text, or not (AM35). */
export type ThinkingDisplay = 'text' | 'omitted' | 'none';

export interface ItemOptions {
  readonly thinking: ThinkingDisplay;
  /** The client's name of a tool, by the name that the account has for it (AM43). */
  readonly clientName: (upstream: string) => string;
  readonly memory: LaneMemory;
  readonly losses: Losses;
}

/** Texts of an item that come in deltas. */
export type DeltaKind = 'text' | 'refusal' | 'summary' | 'reasoning' | 'arguments';

/** The blocks of an item; its events come in order, and the items of a reply one after the other. */
export interface ItemBlocks {
  /** @param part the place of the part inside the item; 0 if it has none */
  delta?(kind: DeltaKind, part: number, text: Buffer): void;
  /** @param finished the part as it is when it ends */
  partDone?(part: number, finished: JsonObject | undefined): void;
  annotation?(part: number, annotation: JsonObject): void;
  /** The item as it is when it ends: what no delta brought is written now. */
  done(item: JsonObject): void;
  /** The reply ended inside the item. */
  cut(): void;
}
