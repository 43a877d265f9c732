// Parses a large JSON object in parts, with other work of the event loop between them, even if its lists, objects and strings are large or
// dense (Q38).
import { OneAtATime } from '../../base/process/one-at-a-time.ts';
import { SlicedWork } from '../../base/process/slices.ts';
import type { JsonObject } from './json.ts';
import { type Excess, JsonScan, type PartSize } from './json-bounds.ts';
import { JsonLevels } from './json-levels.ts';

export interface LargeJsonOptions {
  /** The client's key. Work is divided fairly between keys. */
  readonly key: string;
  readonly maxValues: number;
  /** Aborts the parsing between two parts. The promise then rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /** Called before a part is parsed, with the most memory that the JSON needs up to the end of that part. It may throw. */
  readonly needs?: (bytes: number) => void;
  readonly part?: PartSize;
}

/** The size from which JSON is parsed in parts. */
export const LARGE: PartSize = { bytes: 2_097_152, values: 32_768 };

/** The size of a part, which takes about as long as a slice. */
const PART: PartSize = { bytes: 262_144, values: 4_096 };

const parsing = new OneAtATime();

/** @returns the object, or the limit that it exceeds. @throws Refusal if the JSON is not an object, or not safe to process */
export function parseLargeJson(bytes: Buffer, options: LargeJsonOptions): Promise<JsonObject | Excess> {
  return parsing.run(options.key, options.signal, () => parse(bytes, options));
}

async function parse(bytes: Buffer, options: LargeJsonOptions): Promise<JsonObject | Excess> {
  const { key, maxValues, signal, needs, part = PART } = options;
  const work = new SlicedWork(key);
  const pause = async (): Promise<void> => {
    await work.pause();
    signal.throwIfAborted();
  };
  const levels = new JsonLevels(bytes, part);
  const scan = new JsonScan(bytes, maxValues, { visitor: levels });
  while (scan.at < bytes.length) {
    await pause();
    const excess = scan.readTo(Math.min(scan.at + PART.bytes, bytes.length));
    if (excess) return excess;
    needs?.(scan.parsedBytes);
    for (const _ of levels.build(scan)) await pause();
  }
  return levels.root();
}
