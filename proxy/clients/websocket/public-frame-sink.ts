// A reply as frames of the compatible surface: JSON objects alone, numbered without gaps (F1.10, Q15).
import type { Event } from '../../turn/turn.ts';
import { FrameSink } from './frame-sink.ts';

/** Every event is parsed. */
const EVERYTHING = { has: () => true };

export class PublicFrameSink extends FrameSink {
  override readonly wants = EVERYTHING;
  override readonly objectsOnly = true;
  #next = 0;

  override event({ type, data }: Event): void {
    const numbered = 'sequence_number' in data && type !== 'error';
    super.event({ type, data: numbered ? { ...data, sequence_number: this.#next++ } : data });
  }
}
