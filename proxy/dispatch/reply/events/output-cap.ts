// Ends a reply at its key's cap of output tokens, if the account did not get the cap, with the events that a provider would send.
import { asList, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import type { HeldBytes } from '../../../turn/reply/held-bytes.ts';
import type { TokenCounts } from '../../../turn/reply/turn-result.ts';

/** The estimate of Q18. */
const BYTES_PER_TOKEN = 4;

/** The deltas of message parts. Other deltas count too, but the ended reply does not contain them. */
const PART_DELTAS: ReadonlySet<string> = new Set(['response.output_text.delta', 'response.refusal.delta']);

type Made = JsonObject & { readonly type: string };

interface OpenMessage {
  readonly item: JsonObject;
  /** The parts by index, with their text so far. */
  readonly parts: Map<number, JsonObject>;
}

/** Reads every event of the reply. The events are parsed for it, which only happens for keys with an output-token policy. */
export class OutputCap {
  readonly #maxBytes: number;
  readonly #memory: HeldBytes;
  /** The estimated usage of the turn so far (Q18). */
  readonly #estimateUsage: () => TokenCounts | undefined;
  #bytes = 0;
  #response: JsonObject = {};
  #sequence = -1;
  readonly #messages = new Map<number, OpenMessage>();
  readonly #finished = new Map<number, Json>();

  constructor(tokens: number, memory: HeldBytes, estimateUsage: () => TokenCounts | undefined) {
    this.#maxBytes = tokens * BYTES_PER_TOKEN;
    this.#memory = memory;
    this.#estimateUsage = estimateUsage;
  }

  /**
   * @returns the part of a delta that still fits, which may be empty. The reply ends after it. Undefined for every event below the cap
   * @throws TooMuchHeld
   */
  read(data: JsonObject, length: number): readonly JsonObject[] | undefined {
    const { type, delta } = data;
    if (typeof data.sequence_number === 'number') this.#sequence = data.sequence_number;
    if (typeof type === 'string' && type.endsWith('.delta') && typeof delta === 'string') return this.#delta({ ...data, type, delta });
    if (isObject(data.response) && type !== 'response.metadata') this.#response = data.response;
    if (KEPT.has(type)) {
      this.#memory.hold(length);
      this.#keep(data);
    }
    return undefined;
  }

  /** The closing events of the reply. */
  closing(): readonly JsonObject[] {
    const events: Made[] = [];
    for (const [index, { item, parts }] of this.#messages) {
      const place = { item_id: item.id ?? null, output_index: index };
      const content = [...parts].sort(([a], [b]) => a - b).map(([, part]) => part);
      for (const [content_index, part] of parts) events.push(...partEvents(part, { ...place, content_index }));
      const ended = { ...item, status: 'incomplete', content };
      events.push({ type: 'response.output_item.done', output_index: index, item: ended });
      this.#finished.set(index, ended);
    }
    const output = [...this.#finished].sort(([a], [b]) => a - b).map(([, item]) => item);
    const input_tokens = this.#estimateUsage()?.input_tokens ?? 0;
    const output_tokens = Math.ceil(this.#bytes / BYTES_PER_TOKEN);
    const response = {
      ...this.#response,
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output,
      usage: {
        input_tokens,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: input_tokens + output_tokens,
      },
    };
    events.push({ type: 'response.incomplete', response });
    return events.map((event) => ({ ...event, sequence_number: ++this.#sequence }));
  }

  #delta(data: JsonObject & { readonly type: string; readonly delta: string }): readonly JsonObject[] | undefined {
    const bytes = Buffer.byteLength(data.delta);
    const room = this.#maxBytes - this.#bytes;
    const fits = bytes <= room;
    const text = fits ? data.delta : startOf(data.delta, room);
    this.#bytes += fits ? bytes : Buffer.byteLength(text);
    if (PART_DELTAS.has(data.type)) this.#append(data, text);
    if (fits) return undefined;
    return text === '' ? [] : [{ ...data, delta: text }];
  }

  #append({ type, output_index: index, content_index: at }: JsonObject, text: string): void {
    const parts = typeof index === 'number' ? this.#messages.get(index)?.parts : undefined;
    if (!parts || typeof at !== 'number') return;
    this.#memory.hold(Buffer.byteLength(text));
    const member = type === 'response.refusal.delta' ? 'refusal' : 'text';
    const part = parts.get(at) ?? emptyPart(member);
    parts.set(at, { ...part, [member]: `${typeof part[member] === 'string' ? part[member] : ''}${text}` });
  }

  #keep({ type, item, part, output_index: index, content_index: at }: JsonObject): void {
    if (typeof index !== 'number') return;
    if (type === 'response.output_item.done') {
      this.#messages.delete(index);
      this.#finished.set(index, item ?? null);
    } else if (type === 'response.output_item.added') {
      if (isObject(item) && item.type === 'message')
        this.#messages.set(index, { item, parts: new Map(asList(item.content).filter(isObject).entries()) });
    } else if (isObject(part) && typeof at === 'number') this.#messages.get(index)?.parts.set(at, part);
  }
}

const KEPT: ReadonlySet<Json | undefined> = new Set([
  'response.output_item.added',
  'response.content_part.added',
  'response.content_part.done',
  'response.output_item.done',
]);

const emptyPart = (member: 'text' | 'refusal'): JsonObject =>
  member === 'text' ? { type: 'output_text', text: '', annotations: [] } : { type: 'refusal', refusal: '' };

function partEvents(part: JsonObject, place: JsonObject): readonly Made[] {
  const said: Made =
    part.type === 'refusal'
      ? { type: 'response.refusal.done', ...place, refusal: part.refusal ?? '' }
      : { type: 'response.output_text.done', ...place, text: part.text ?? '', logprobs: [] };
  return [said, { type: 'response.content_part.done', ...place, part }];
}

/** The longest beginning of a text that has at most so many bytes in UTF-8 and no partial character. */
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
