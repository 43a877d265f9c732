// Ends a reply at its key's cap of output tokens, if the account did not get the cap, with the events that a provider would send.
import { isObject, type JsonObject, parsedObject } from '../../../turn/json/json.ts';
import { DeltaText } from '../../../turn/reply/delta-text.ts';
import { jsonText } from '../../../turn/reply/event-bytes.ts';
import type { HeldBytes } from '../../../turn/reply/held-bytes.ts';
import type { ReplyEvent } from '../../../turn/reply/reply-event.ts';
import type { TokenCounts } from '../../../turn/reply/turn-result.ts';
import { BYTES_PER_TOKEN, tokensOfBytes } from '../../../turn/token-estimate.ts';
import { OUTPUT_EVENTS, UnfinishedOutput } from './unfinished-output.ts';

/** The events before the output that state the response. */
const RESPONSE_EVENTS: ReadonlySet<string> = new Set(['response.created', 'response.queued', 'response.in_progress']);

/** Reads every event of the reply in its bytes. Only the last delta is parsed, and what the closing events repeat. */
export class OutputCap {
  readonly #maxBytes: number;
  readonly #memory: HeldBytes;
  /** The estimated usage of the turn so far (Q18). */
  readonly #estimateUsage: () => TokenCounts | undefined;
  readonly #delta = new DeltaText();
  readonly #output: UnfinishedOutput;
  #bytes = 0;
  /** The data of the last event that states the response. */
  #stated = '';
  #statedBytes = 0;
  #sequence = -1;

  constructor(tokens: number, memory: HeldBytes, estimateUsage: () => TokenCounts | undefined) {
    this.#maxBytes = tokens * BYTES_PER_TOKEN;
    this.#memory = memory;
    this.#estimateUsage = estimateUsage;
    this.#output = new UnfinishedOutput(memory);
  }

  /**
   * @param known the data of the event, if it is parsed already
   * @returns the part of a delta that still fits, which may be empty. The reply ends after it. Undefined for every event below the cap
   * @throws TooMuchHeld
   */
  read(event: ReplyEvent, known: JsonObject | undefined): readonly JsonObject[] | undefined {
    if (event.type.endsWith('.delta')) return this.#count(event, known);
    if (OUTPUT_EVENTS.has(event.type)) this.#output.take(event);
    else if (RESPONSE_EVENTS.has(event.type)) this.#keep(event);
    return undefined;
  }

  /** The closing events of the reply. */
  closing(): readonly JsonObject[] {
    const { events, items } = this.#output.end();
    const input_tokens = this.#estimateUsage()?.input_tokens ?? 0;
    const output_tokens = tokensOfBytes(this.#bytes);
    const stated = parsedObject(this.#stated)?.response;
    const response = {
      ...(isObject(stated) ? stated : {}),
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: items,
      usage: {
        input_tokens,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: input_tokens + output_tokens,
      },
    };
    return [...events, { type: 'response.incomplete', response }].map((event) => ({ ...event, sequence_number: ++this.#sequence }));
  }

  #keep(event: ReplyEvent): void {
    this.#memory.allowParsing(event);
    this.#memory.release(this.#statedBytes);
    this.#statedBytes = 0;
    this.#memory.hold(event.length);
    this.#statedBytes = event.length;
    this.#stated = event.data();
  }

  #count(event: ReplyEvent, known: JsonObject | undefined): readonly JsonObject[] | undefined {
    const text = this.#delta.of(event);
    if (!text) return undefined;
    const bytes = this.#delta.decodedBytes;
    if (this.#bytes + bytes > this.#maxBytes) return this.#cut(known ?? this.#memory.json(event), event);
    this.#bytes += bytes;
    this.#output.append(event, text);
    return undefined;
  }

  #cut(data: JsonObject | undefined, event: ReplyEvent): readonly JsonObject[] {
    const text = typeof data?.delta === 'string' ? startOf(data.delta, this.#maxBytes - this.#bytes) : '';
    const number = data?.sequence_number;
    if (typeof number === 'number') this.#sequence = text === '' ? number - 1 : number;
    if (text === '') return [];
    this.#bytes += Buffer.byteLength(text);
    this.#output.append(event, jsonText(text));
    return [{ ...data, delta: text }];
  }
}

/** The longest beginning of a text that has at most this number of bytes in UTF-8 and no partial character. */
function startOf(text: string, bytes: number): string {
  let start = '';
  let length = 0;
  for (const character of text) {
    length += Buffer.byteLength(character);
    if (length > bytes) break;
    start += character;
  }
  return start;
}
