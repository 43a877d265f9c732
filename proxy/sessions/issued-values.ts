// Values that only the account that issued them accepts: turn state, and the ciphertext of reasoning and compaction items (Q10).
import { RecentEntries } from '../base/bytes/recent-entries.ts';
import type { PinName } from '../turn/continuation.ts';
import { isObject, type Json, type JsonObject } from '../turn/json/json.ts';
import { CAPSULE_PREFIX } from '../turn/provider/capsule.ts';
import type { WireWords } from '../turn/settings.ts';
import type { Body, Headers, Outgoing } from '../turn/turn.ts';
import { turnStateName } from '../turn/wire/agent-names.ts';
import type { PinCache } from './pins/pin-cache.ts';

/** The most refusals that are remembered. Only this process has them; another process needs one refused attempt to learn of one. */
const REFUSALS = 10_000;
/** The last characters of a ciphertext that identify it, whatever its length, because it ends with its authentication tag. */
const TAIL = 96;
/** The most store reads for a refused turn. */
const LOOKUPS = 8;

/** Makers are stored as pins: cached in memory, kept in the store for 24 hours, written in batches. */
export class Ciphertexts {
  readonly #pins: PinCache;
  readonly #refusers = new RecentEntries<string>(REFUSALS);

  constructor(pins: PinCache) {
    this.#pins = pins;
  }

  /** Records that the account made an output item. @returns as `PinCache.learn` does */
  learn(item: Json | undefined, account: string): Promise<void> | undefined {
    const name = this.#nameOf(item);
    return name && this.#pins.learn(name, account);
  }

  /** The maker, from memory only. `lookUp` reads others from the store. */
  makerOf(item: Json | undefined): string | undefined {
    const name = this.#nameOf(item);
    return name && this.#pins.peek(name)?.account;
  }

  /**
   * The maker of the newest known ciphertext among these items. If the makers of the last eight are not in memory, the store is read for
   * the newest item.
   */
  newestMaker(items: readonly Json[]): string | undefined | Promise<string | undefined> {
    let newest: PinName | undefined;
    let lookups = 0;
    for (let i = items.length - 1; i >= 0 && lookups < LOOKUPS; i--) {
      const name = this.#nameOf(items[i]);
      if (!name) continue;
      const maker = this.#pins.peek(name)?.account;
      if (maker !== undefined) return maker;
      newest ??= name;
      lookups += 1;
    }
    const pin = newest && this.#pins.find(newest);
    return pin instanceof Promise ? pin.then((read) => read?.account) : pin?.account;
  }

  /** Reads makers from the store, for the first items whose makers are not in memory. */
  async lookUp(items: readonly Json[], most = LOOKUPS): Promise<void> {
    const reads: Promise<unknown>[] = [];
    for (const item of items) {
      const name = this.#nameOf(item);
      const found = name && this.#pins.find(name);
      if (found instanceof Promise && reads.push(found) === most) break;
    }
    await Promise.all(reads);
  }

  /** Records that the account refused the item. */
  refuse(item: Json, account: string): void {
    const name = this.#nameOf(item);
    if (name) this.#refusers.set(name.text, account);
  }

  isRefusedBy(item: Json, account: string): boolean {
    const name = this.#nameOf(item);
    return name !== undefined && this.#refusers.get(name.text) === account;
  }

  #nameOf(item: Json | undefined): PinName | undefined {
    const text = ciphertextOf(item);
    return text === undefined ? undefined : this.#pins.name('ciphertext', '', '', tailOf(text));
  }
}

/** A copy, because a slice would keep the whole ciphertext in memory for as long as its pin. */
const tailOf = (text: string): string => Buffer.from(text.slice(-TAIL)).toString();

/** The ciphertext of an item. A capsule is no account's ciphertext, and binds a turn to none (AA22). */
export function ciphertextOf(item: Json | undefined): string | undefined {
  const text = isObject(item) ? item.encrypted_content : undefined;
  return typeof text === 'string' && text !== '' && !text.startsWith(CAPSULE_PREFIX) ? text : undefined;
}

export const isReasoning = (item: Json): boolean => isObject(item) && item.type === 'reasoning';

/** The values of a request, without duplicates. */
export function turnStatesIn(headers: Headers, body: Body | undefined, wire: WireWords): readonly string[] {
  const name = turnStateName(wire.agent);
  const inHeader = headers[name];
  const metadata = body?.client_metadata;
  const inBody = isObject(metadata) ? metadata[name] : undefined;
  if (inHeader === undefined) return typeof inBody === 'string' ? [inBody] : NONE;
  return typeof inBody === 'string' && inBody !== inHeader ? [inHeader, inBody] : [inHeader];
}

const NONE: readonly string[] = [];

/** The value that a `response.metadata` event issues. */
export function turnStateOf(data: JsonObject, wire: WireWords): string | undefined {
  const value = isObject(data.headers) ? data.headers[turnStateName(wire.agent)] : undefined;
  return typeof value === 'string' ? value : undefined;
}

/** Removes values from an attempt that its account did not issue, including those of unknown origin. */
export function keepOwnTurnState(out: Outgoing, isOwn: (value: string) => boolean, wire: WireWords): void {
  const name = turnStateName(wire.agent);
  const inHeader = out.headers[name];
  if (inHeader !== undefined && !isOwn(inHeader)) delete out.headers[name];
  const metadata = out.body.client_metadata;
  if (!isObject(metadata) || metadata[name] === undefined) return;
  const inBody = metadata[name];
  if (typeof inBody === 'string' && isOwn(inBody)) return;
  const { [name]: _, ...rest } = metadata;
  out.body.client_metadata = rest;
}
