// Compresses tool outputs on their way to the account, if the Pool asks for it (F7).
import { isList, type Json, type JsonObject } from '../../proxy/turn/json/json.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import type { Turn } from '../../proxy/turn/turn.ts';
import { TURNS } from '../route-groups.ts';
import { compressText } from './compress-text.ts';
import { textsOf, withTexts } from './output-texts.ts';
import { isProtected, lengthOfCall } from './protected-calls.ts';
import type { Steps } from './steps.ts';
import { toolOutputs } from './tool-calls.ts';

/** The most decoded bytes of a body. A larger body is not scanned (F7.5). */
const LARGEST_BODY = 1_048_576;
/** The most outputs of one dispatch that are tried (F7.5). */
const MOST_CANDIDATES = 50;
/** The least characters of a candidate, because a shorter output has nothing to leave out. */
const SHORTEST_OUTPUT = 200;
/** Characters that are scanned before other turns get to run. */
const CHARACTERS_AT_A_TIME = 131_072;

/**
 * The compressed output depends only on the output and its own call, because a provider's prompt cache needs the same bytes in every turn
 * of a conversation. A conversation grows at its end, so the first candidates are tried.
 */
export const requestCompression = rule({
  name: 'request-compression',
  routes: TURNS,
  edit(work, _memory, turn) {
    const { input } = work.body;
    if (!turn.pool.request_compression_enabled || !isList(input)) return;
    if (turn.bodyBytes > LARGEST_BODY) {
      turn.note('payload_compression', { skipped_body_bytes: turn.bodyBytes });
      return;
    }
    return new Compression(turn).of(input).then((compressed) => {
      work.body.input = compressed;
    });
  },
  explain: ({ pool }) => (pool.request_compression_enabled ? 'compresses tool outputs' : undefined),
});

class Compression {
  readonly #turn: Turn;
  readonly #counts = { outputs: 0, protected: 0, over_limit: 0, errors: 0, compressed: 0 };
  /** The texts that became shorter, before compression. */
  readonly #before: string[] = [];
  readonly #after: string[] = [];
  #scanned = 0;

  constructor(turn: Turn) {
    this.#turn = turn;
  }

  async of(input: readonly Json[]): Promise<readonly Json[]> {
    const counts = this.#counts;
    const result = input.slice();
    let candidates = 0;
    for (const { index, item, call } of toolOutputs(input)) {
      const texts = textsOf(item);
      const length = sum(texts.map((text) => text.length));
      if (length < SHORTEST_OUTPUT) continue;
      counts.outputs++;
      await this.#pauseBefore(length + lengthOfCall(call));
      if (candidates === MOST_CANDIDATES) counts.over_limit++;
      else if (isProtected(call)) counts.protected++;
      else {
        candidates++;
        result[index] = await this.#compressed(item, texts);
      }
    }
    if (counts.outputs > 0) this.#noteSavings();
    return counts.compressed > 0 ? result : input;
  }

  async #pauseBefore(length: number): Promise<void> {
    if (this.#scanned > 0 && this.#scanned + length > CHARACTERS_AT_A_TIME) {
      await this.#turn.pause();
      this.#scanned = 0;
    }
    this.#scanned += length;
  }

  /** Compresses an item. If its scan fails, the item stays as it came (F7.5). */
  async #compressed(item: JsonObject, texts: readonly string[]): Promise<JsonObject> {
    try {
      const shorter: string[] = [];
      for (const text of texts) shorter.push(await this.#inSteps(compressText(text)));
      const changed = texts.flatMap((text, i) => (shorter[i] === text ? [] : [i]));
      if (changed.length === 0) return item;
      const compressed = withTexts(item, shorter);
      this.#counts.compressed++;
      for (const i of changed) {
        this.#before.push(texts[i] as string);
        this.#after.push(shorter[i] as string);
      }
      return compressed;
    } catch {
      this.#counts.errors++;
      return item;
    }
  }

  async #inSteps<Result>(steps: Steps<Result>): Promise<Result> {
    for (;;) {
      const step = steps.next();
      if (step.done) return step.value;
      this.#scanned = 0;
      await this.#turn.pause();
    }
  }

  /** Notes the savings in bytes at once. Tokens replace them when they have been counted, while the turn continues (RM2). */
  #noteSavings(): void {
    const counts = { ...this.#counts };
    if (counts.compressed === 0) {
      this.#turn.note('payload_compression', counts);
      return;
    }
    const bytes = savingsOf(this.#before.map(lengthInBytes), this.#after.map(lengthInBytes));
    this.#turn.note('payload_compression', { ...counts, saved_bytes: bytes.saved, byte_savings_percent: bytes.percent });
    const { length } = this.#before;
    void this.#turn.countTokens([...this.#before, ...this.#after]).then((tokens) => {
      if (!tokens) return;
      const { saved, percent } = savingsOf(tokens.slice(0, length), tokens.slice(length));
      this.#turn.note('payload_compression', { ...counts, saved_tokens: saved, token_savings_percent: percent });
    });
  }
}

const lengthInBytes = (text: string): number => Buffer.byteLength(text);

/** The savings and their percentage, which has one decimal place. */
function savingsOf(before: readonly number[], after: readonly number[]): { readonly saved: number; readonly percent: number } {
  const total = sum(before);
  const saved = total - sum(after);
  return { saved, percent: total === 0 ? 0 : Math.round((saved / total) * 1_000) / 10 };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
