// A message of a reply. Its parts are opened with their first text, and end with the message (AA50).
import { asList, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import { newId } from '../../api-accounts/reply/new-id.ts';
import type { ItemStatus, ReplyOutput } from './reply-output.ts';

type PartType = 'output_text' | 'refusal';

interface OpenPart {
  readonly type: PartType;
  readonly place: string;
  text: string;
  readonly annotations: JsonObject[];
}

export class MessageItem {
  readonly #output: ReplyOutput;
  readonly #id = newId('msg_');
  readonly #index: number;
  #part: OpenPart | undefined;
  readonly #done: JsonObject[] = [];
  /** The bytes of its parts. */
  #held = 0;

  constructor(output: ReplyOutput) {
    this.#output = output;
    this.#index = output.added({ id: this.#id, type: 'message', role: 'assistant', status: 'in_progress', content: [] });
  }

  text(delta: string): void {
    const part = this.#partOf('output_text');
    this.#held += this.#output.hold(delta);
    part.text += delta;
    this.#output.write('response.output_text.delta', `${part.place},"delta":${JSON.stringify(delta)},"logprobs":[]`);
  }

  refusal(delta: string): void {
    const part = this.#partOf('refusal');
    this.#held += this.#output.hold(delta);
    part.text += delta;
    this.#output.write('response.refusal.delta', `${part.place},"delta":${JSON.stringify(delta)}`);
  }

  /** Adds citations of addresses. Citations that come before a text are dropped. */
  annotations(annotations: Json | undefined): void {
    const part = this.#part;
    if (part?.type !== 'output_text') return;
    for (const annotation of asList(annotations)) {
      const citation = isObject(annotation) ? urlCitation(annotation) : undefined;
      if (!citation) continue;
      const json = JSON.stringify(citation);
      this.#held += this.#output.hold(json);
      const members = `${part.place},"annotation_index":${part.annotations.length},"annotation":${json}`;
      part.annotations.push(citation);
      this.#output.write('response.output_text.annotation.added', members);
    }
  }

  end(status: ItemStatus): void {
    this.#endPart();
    this.#output.done(this.#index, { id: this.#id, type: 'message', role: 'assistant', status, content: this.#done }, this.#held);
  }

  #partOf(type: PartType): OpenPart {
    if (this.#part?.type === type) return this.#part;
    this.#endPart();
    const index = this.#done.length;
    const place = `"item_id":"${this.#id}","output_index":${this.#index},"content_index":${index}`;
    const part: OpenPart = { type, place, text: '', annotations: [] };
    this.#part = part;
    this.#output.write('response.content_part.added', `${place},"part":${JSON.stringify(contentOf(part))}`);
    return part;
  }

  #endPart(): void {
    const part = this.#part;
    if (!part) return;
    this.#part = undefined;
    const isText = part.type === 'output_text';
    const text = JSON.stringify(part.text);
    if (isText) this.#output.write('response.output_text.done', `${part.place},"text":${text},"logprobs":[]`);
    else this.#output.write('response.refusal.done', `${part.place},"refusal":${text}`);
    const content = contentOf(part);
    this.#output.write('response.content_part.done', `${part.place},"part":${JSON.stringify(content)}`);
    this.#done.push(content);
  }
}

const contentOf = ({ type, text, annotations }: OpenPart): JsonObject =>
  type === 'output_text' ? { type, text, annotations, logprobs: [] } : { type, refusal: text };

function urlCitation({ type, url_citation: nested, ...flat }: JsonObject): JsonObject | undefined {
  if (type !== 'url_citation') return undefined;
  const { url, title, start_index, end_index } = isObject(nested) ? nested : flat;
  if (typeof url !== 'string') return undefined;
  return { type, url, title: title ?? '', start_index: start_index ?? 0, end_index: end_index ?? 0 };
}
