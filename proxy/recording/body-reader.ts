// What reads a decoded body for the recording: one implementation each for JSON, events, forms and everything else.
import type { RecordedBody } from './fixture.ts';

export type ReadBody = Omit<RecordedBody, 'bytes' | 'encoding'>;

export interface BodyReader {
  push(chunk: Buffer): void;
  /** The body has ended, whole or not. */
  end(): ReadBody | Promise<ReadBody>;
}
