// Parses a client's bytes into a JSON object that is safe to process: valid UTF-8, no prototype keys, bounded depth and number of values.
import { isUtf8 } from 'node:buffer';
import type { BodyShare } from '../../../base/bytes/body-memory.ts';
import type { DenseJson } from '../../../base/bytes/dense-json.ts';
import type { Counters } from '../../../base/process/metrics.ts';
import { JsonSyntaxRefusal, Refusal } from '../../../turn/errors/refusal.ts';
import { checkMembers, notAnObject, parseJson, tooDeep } from '../../../turn/json/checked-json.ts';
import { exactRequest, parseExactly } from '../../../turn/json/exact-numbers.ts';
import { isObject, type JsonObject } from '../../../turn/json/json.ts';
import { type Excess, scanOf } from '../../../turn/json/json-bounds.ts';
import { LARGE, parseLargeJson } from '../../../turn/json/large-json.ts';
import type { Limits } from '../../../turn/settings.ts';
import type { Body } from '../../../turn/turn.ts';

export interface JsonMemory {
  readonly limits: Limits;
  readonly counters: Counters;
  /** The memory for bodies of the client's key. */
  readonly share: BodyShare;
}

export interface ParsedBody {
  readonly body: Body;
  /** Releases the memory of dense JSON after its turn; undefined for other JSON. */
  readonly release: (() => void) | undefined;
}

/**
 * Parses small JSON; undefined for larger JSON.
 * @throws Refusal `invalid_request`, `request_too_large` for more values than limits.json_values, `server_is_overloaded`
 */
export function parseBody(bytes: Buffer, memory: JsonMemory): ParsedBody | undefined {
  if (bytes.length >= LARGE.bytes) return undefined;
  const scan = scanOf(bytes, memory.limits.json_values, LARGE.values);
  if (typeof scan === 'string') throw refusalOf(scan, memory.counters);
  if (scan && scan.values >= LARGE.values) return undefined;
  checkUtf8(bytes);
  const text = bytes.toString('utf8');
  const parsed = parseJson(text);
  if (!isObject(parsed)) throw notAnObject();
  const body = checkMembers(parsed, 1) ? exactRequest(parseExactly(text) as JsonObject, parsed) : parsed;
  return { body, release: scan && releaseOf(count(memory.share.json(), scan.parsedBytes, bytes, memory)) };
}

/**
 * Parses large JSON in parts. Its bytes count as memory until it is parsed, because large bodies wait for each other, and it may be dropped
 * for a body of a key that holds less.
 * @param left aborts the parsing
 * @throws Refusal like `parseBody`
 */
export async function parseLargeBody(bytes: Buffer, memory: JsonMemory, left?: AbortSignal): Promise<ParsedBody> {
  const { limits, counters, share } = memory;
  const displacing = new AbortController();
  const held = share.body(() => {
    counters.add('bodies_displaced');
    displacing.abort(new Refusal('server_is_overloaded'));
  });
  if (!held.take(bytes.length, limits.bodies_in_memory_bytes)) {
    counters.add('bodies_guard_refused');
    throw new Refusal('server_is_overloaded');
  }
  const json = share.json();
  try {
    checkUtf8(bytes);
    const body = await parseLargeJson(bytes, {
      key: share.key,
      maxValues: limits.json_values,
      signal: left ? AbortSignal.any([displacing.signal, left]) : displacing.signal,
      needs: (needed) => void count(json, needed, bytes, memory),
    });
    if (typeof body === 'string') throw refusalOf(body, counters);
    return { body, release: releaseOf(json) };
  } catch (thrown) {
    json.give();
    throw thrown;
  } finally {
    held.give();
  }
}

/** @throws Refusal `server_is_overloaded` */
function count(json: DenseJson, needed: number, { length }: Buffer, { limits, counters }: JsonMemory): DenseJson {
  if (json.count(needed, length, limits.dense_json_bytes)) return json;
  counters.add('dense_json_refused');
  throw new Refusal('server_is_overloaded');
}

const releaseOf = (json: DenseJson): (() => void) | undefined => (json.isCounted ? () => json.give() : undefined);

/** @throws JsonSyntaxRefusal */
function checkUtf8(bytes: Buffer): void {
  if (!isUtf8(bytes)) throw new JsonSyntaxRefusal('The request body is not valid UTF-8.');
}

/** The refusal for an exceeded limit. Too many values count as too large, and too much depth as invalid. */
function refusalOf(excess: Excess, counters: Counters): Refusal {
  if (excess === 'depth') return tooDeep();
  counters.add('json_values_refused');
  return new Refusal('request_too_large', { message: 'The request body has more JSON values than this gateway accepts.' });
}
