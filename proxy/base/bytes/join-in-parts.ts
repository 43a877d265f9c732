// Joins the bytes of a large body in parts, one body at a time, with other work of the event loop between the parts. Joining 70 MB at once
// would take 60 ms (Q38).
import { OneAtATime } from '../process/one-at-a-time.ts';
import { SlicedWork } from '../process/slices.ts';
import type { Gathering } from './gathered-bytes.ts';

/** A body of which fewer bytes have to be copied is joined at once. */
export const JOINED_AT_ONCE = 1_048_576;

const PART_BYTES = 262_144;

const joining = new OneAtATime();

/** @param key the client's key, because work is divided fairly between keys @param signal aborts the work, and its reason is thrown */
export function joinInParts(bytes: Gathering, key: string, signal: AbortSignal): Promise<Buffer> {
  return joining.run(key, signal, async () => {
    const work = new SlicedWork(key);
    const parts = bytes.takeInParts(PART_BYTES);
    for (;;) {
      await work.pause();
      signal.throwIfAborted();
      const { done, value } = parts.next();
      if (done) return value;
    }
  });
}
