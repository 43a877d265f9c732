// The prompt cache of a simulated account. The header `session-id` decides which machine's cache a turn uses (RB14).
import { createHash } from 'node:crypto';
import { asList, asString, type JsonObject } from '../../turn/json/json.ts';

/** The shortest prompt that is cached. */
const SHORTEST_TOKENS = 1_024;
/** The part of a known prompt that counts as cached. */
const SHARE = 0.99;
/** The number of machines. Each has a cache of its own, and a turn without the header goes to any of them. */
const MACHINES = 8;
const MAX_CACHES = 1_000;
const MAX_PREFIXES = 1_000;

export class SimulatedCache {
  /** Digests of known prompts by session or machine. */
  readonly #caches = new Map<string, Set<string>>();
  #turns = 0;

  /** Returns the input tokens that are cached, and adds the prompt to the cache. @param session the header `session-id` */
  cachedTokens(body: JsonObject, session: string | undefined, inputTokens: number): number {
    this.#turns += 1;
    if (inputTokens < SHORTEST_TOKENS) return 0;
    const known = this.#cacheOf(session === undefined ? `machine ${this.#machine()}` : `session ${session}`);
    const prefixes = prefixesOf(body);
    const whole = prefixes.at(-1)?.end ?? 0;
    const longest = prefixes.findLast(({ digest }) => known.has(digest))?.end ?? 0;
    for (const { digest } of prefixes) known.add(digest);
    if (known.size > MAX_PREFIXES) known.clear();
    return whole === 0 ? 0 : Math.floor((longest / whole) * SHARE * inputTokens);
  }

  /** Chooses a machine. The sequence is the same in every run. */
  #machine(): number {
    return createHash('sha256').update(`turn ${this.#turns}`).digest().readUInt8() % MACHINES;
  }

  #cacheOf(name: string): Set<string> {
    const known = this.#caches.get(name);
    if (known) return known;
    if (this.#caches.size >= MAX_CACHES) this.#caches.clear();
    const made = new Set<string>();
    this.#caches.set(name, made);
    return made;
  }
}

/** The prefixes of a prompt after each item, with their lengths in characters. */
function prefixesOf({ model, instructions, tools, input }: JsonObject): readonly { readonly digest: string; readonly end: number }[] {
  const parts = [`${asString(model) ?? ''}\n${asString(instructions) ?? ''}\n${JSON.stringify(tools ?? [])}`, ...asList(input).map(textOf)];
  const hash = createHash('sha256');
  let end = 0;
  return parts.map((part) => {
    end += part.length;
    return { digest: hash.update(`${part.length}\n${part}`).copy().digest('base64url'), end };
  });
}

const textOf = (item: unknown): string => JSON.stringify(item);
