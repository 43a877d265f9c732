// The interface for reading a decoded body into a recording. JSON, events, forms and other bodies each have an implementation.
import type { RecordedBody } from './fixture.ts';

export type ReadBody = Omit<RecordedBody, 'bytes' | 'encoding'>;

export interface BodyReader {
  push(chunk: Buffer): void;
  /** Called when the body has ended, complete or not. */
  end(): ReadBody | Promise<ReadBody>;
}
