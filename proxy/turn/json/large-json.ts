// Parses a large JSON object in parts, with other work of the event loop between them, however large or dense its lists, objects and strings
// are (Q38).
import { OneAtATime } from '../../base/process/one-at-a-time.ts';
import { SlicedWork } from '../../base/process/slices.ts';
import type { JsonObject } from './json.ts';
import { type Excess, JsonScan, type PartSize } from './json-bounds.ts';
import { JsonLevels } from './json-levels.ts';

export interface LargeJsonOptions {
  /** The client's key: keys take turns. */
  readonly key: string;
  readonly maxValues: number;
  /** Ends the parsing between two parts, with its reason. */
  readonly signal: AbortSignal;
  /** Called before a part is parsed, with the most memory that the JSON up to its end needs. It may throw. */
  readonly needs?: (bytes: number) => void;
  readonly part?: PartSize;
}

/** JSON of fewer bytes and values is parsed at once. */
export const LARGE: PartSize = { bytes: 2_097_152, values: 32_768 };

/** A part takes about as long as a slice. */
const PART: PartSize = { bytes: 262_144, values: 4_096 };

const parsing = new OneAtATime();

/** @returns the object, or what it exceeds. @throws Refusal for what is no JSON object, or not safe to process */
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
