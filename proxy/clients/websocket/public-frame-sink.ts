// Sends a reply as frames of the compatible surface. They are JSON objects that are numbered without gaps (F1.10, Q15).
import type { JsonObject } from '../../turn/json/json.ts';
import type { Event } from '../../turn/turn.ts';
import { FrameSink } from './frame-sink.ts';
import { inLane } from './lane.ts';
import type { TurnOutput } from './turn-output.ts';

/** All event types, because every event is parsed. */
const EVERYTHING = { has: () => true };

export class PublicFrameSink extends FrameSink {
  override readonly wants = EVERYTHING;
  override readonly objectCheck = 'parse';
  readonly #lane: string | undefined;
  #next = 0;

  constructor(output: TurnOutput, lane: string | undefined) {
    super(output);
    this.#lane = lane;
  }

  override event({ type, data }: Event): void {
    const numbered = 'sequence_number' in data && type !== 'error';
    super.event({ type, data: numbered ? { ...data, sequence_number: this.#next++ } : data });
  }

  protected override encoded(data: JsonObject): string {
    return super.encoded(inLane(data, this.#lane));
  }
}
