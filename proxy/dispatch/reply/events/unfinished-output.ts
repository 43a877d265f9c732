// The output of a reply so far: its finished items and its open messages, whose texts are kept as the bytes of their deltas.
import { GatheredBytes } from '../../../base/bytes/gathered-bytes.ts';
import { asList, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import { DeltaText } from '../../../turn/reply/delta-text.ts';
import type { HeldBytes } from '../../../turn/reply/held-bytes.ts';
import type { ReplyEvent } from '../../../turn/reply/reply-event.ts';

type Made = JsonObject & { readonly type: string };

interface OpenPart {
  readonly part: JsonObject;
  /** The texts that deltas added, in the form that JSON has between the quotes. */
  readonly added: GatheredBytes;
}

interface OpenMessage {
  readonly item: JsonObject;
  readonly parts: Map<number, OpenPart>;
}

/** The deltas of message parts, and the kind of part that each has. */
const PART_DELTAS: ReadonlyMap<string, 'text' | 'refusal'> = new Map([
  ['response.output_text.delta', 'text'],
  ['response.refusal.delta', 'refusal'],
]);

/** The events that begin and end items and their parts. */
export const OUTPUT_EVENTS: ReadonlySet<string> = new Set([
  'response.output_item.added',
  'response.content_part.added',
  'response.content_part.done',
  'response.output_item.done',
]);

export class UnfinishedOutput {
  readonly #memory: HeldBytes;
  readonly #delta = new DeltaText();
  readonly #messages = new Map<number, OpenMessage>();
  readonly #finished = new Map<number, Json>();

  constructor(memory: HeldBytes) {
    this.#memory = memory;
  }

  /** Adds the text of a delta, if it belongs to a part of a message. @param text in the form that JSON has between its quotes @throws TooMuchHeld */
  append(event: ReplyEvent, text: Buffer): void {
    const kind = PART_DELTAS.get(event.type);
    if (!kind) return;
    const index = this.#delta.placeOf(event);
    const parts = typeof index === 'number' ? this.#messages.get(index)?.parts : undefined;
    if (!parts) return;
    const at = this.#delta.numberOf(event, 'content_index');
    const { added } = parts.get(at) ?? open(parts, at, emptyPart(kind));
    this.#memory.hold(added.add(text));
  }

  /** Takes one of OUTPUT_EVENTS. @param length the bytes of the event @throws TooMuchHeld */
  take({ type, item, part, output_index: index, content_index: at }: JsonObject, length: number): void {
    this.#memory.hold(length);
    if (typeof index !== 'number') return;
    if (type === 'response.output_item.done') {
      this.#messages.delete(index);
      this.#finished.set(index, item ?? null);
    } else if (type === 'response.output_item.added') {
      if (!isObject(item) || item.type !== 'message') return;
      const parts: OpenMessage['parts'] = new Map();
      for (const [i, content] of asList(item.content).filter(isObject).entries()) open(parts, i, content);
      this.#messages.set(index, { item, parts });
    } else if (isObject(part) && typeof at === 'number') {
      const message = this.#messages.get(index);
      if (message) open(message.parts, at, part);
    }
  }

  /** Ends the open messages as incomplete. @returns the events that say so, without sequence numbers, and all items in their order */
  end(): { readonly events: readonly JsonObject[]; readonly items: readonly Json[] } {
    const events: Made[] = [];
    for (const [index, { item, parts }] of this.#messages) {
      const content = [...parts].sort(([a], [b]) => a - b).map(([at, part]) => [at, whole(part)] as const);
      for (const [content_index, part] of content) {
        events.push(...partEvents(part, { item_id: item.id ?? null, output_index: index, content_index }));
      }
      const ended = { ...item, status: 'incomplete', content: content.map(([, part]) => part) };
      events.push({ type: 'response.output_item.done', output_index: index, item: ended });
      this.#finished.set(index, ended);
    }
    this.#messages.clear();
    return { events, items: [...this.#finished].sort(([a], [b]) => a - b).map(([, item]) => item) };
  }
}

function open(parts: OpenMessage['parts'], at: number, part: JsonObject): OpenPart {
  const opened = { part, added: new GatheredBytes() };
  parts.set(at, opened);
  return opened;
}

const emptyPart = (kind: 'text' | 'refusal'): JsonObject =>
  kind === 'text' ? { type: 'output_text', text: '', annotations: [] } : { type: 'refusal', refusal: '' };

/** The part with the texts of its deltas. */
function whole({ part, added }: OpenPart): JsonObject {
  if (added.length === 0) return part;
  const kind = part.type === 'refusal' ? 'refusal' : 'text';
  const begun = part[kind];
  return { ...part, [kind]: `${typeof begun === 'string' ? begun : ''}${JSON.parse(`"${added.take().toString()}"`) as string}` };
}

function partEvents(part: JsonObject, place: JsonObject): readonly Made[] {
  const said: Made =
    part.type === 'refusal'
      ? { type: 'response.refusal.done', ...place, refusal: part.refusal ?? '' }
      : { type: 'response.output_text.done', ...place, text: part.text ?? '', logprobs: [] };
  return [said, { type: 'response.content_part.done', ...place, part }];
}
