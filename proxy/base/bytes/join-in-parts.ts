// Joins the bytes of a large body in parts, one body at a time, with other work of the event loop between the parts: all at once, 70 MB
// would take it for 60 ms (Q38).
import { OneAtATime } from '../process/one-at-a-time.ts';
import { SlicedWork } from '../process/slices.ts';
import type { GatheredBytes } from './gathered-bytes.ts';

/** Fewer bytes are joined at once. */
export const JOINED_AT_ONCE = 1_048_576;

const PART_BYTES = 262_144;

const joining = new OneAtATime();

/** @param key of the client: keys take turns. @param signal ends it, with its reason */
export function joinInParts(bytes: GatheredBytes, key: string, signal: AbortSignal): Promise<Buffer> {
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
