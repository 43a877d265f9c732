// Turns a message of an account's reply into text blocks. Each part is one block with its citations (AM53, AM54).
import { asList, isObject, type JsonObject } from '../../../turn/json/json.ts';
import { jsonText } from '../../../turn/reply/event-bytes.ts';
import { type Losses, SentText } from '../../../turn/reply/sent-text.ts';
import type { BlockWriter, OpenBlock } from './block-writer.ts';
import type { DeltaKind, ItemBlocks, ItemOptions } from './item-blocks.ts';
import { Lanes } from './lanes.ts';

/** A part of a message. */
interface TextPart {
  readonly block: OpenBlock;
  readonly sent: SentText;
  written: boolean;
  cited: boolean;
}

export class MessageBlocks implements ItemBlocks {
  readonly #writer: BlockWriter;
  readonly #losses: Losses;
  readonly #parts: Lanes<number>;
  readonly #blocks = new Map<number, TextPart>();
  /** The parts that came in deltas. */
  readonly #streamed = new Set<number>();

  constructor(writer: BlockWriter, { memory, losses }: ItemOptions) {
    this.#writer = writer;
    this.#losses = losses;
    this.#parts = new Lanes(memory);
  }

  delta(_kind: DeltaKind, part: number, text: Buffer): void {
    this.#streamed.add(part);
    if (this.#parts.isFirst(part)) this.#write(part, text);
    else {
      const kept = Buffer.from(text);
      this.#parts.write(part, kept.length, () => this.#write(part, kept));
    }
  }

  annotation(part: number, annotation: JsonObject): void {
    const citation = citationOf(annotation);
    if (citation) this.#parts.write(part, JSON.stringify(citation).length, () => this.#cite(part, citation));
  }

  partDone(part: number, finished: JsonObject | undefined): void {
    if (this.#losses() > 0 || !this.#streamed.has(part)) {
      // If the event does not contain the part, the text comes with the finished item.
      if (!finished) return;
      this.#parts.write(part, JSON.stringify(finished).length, () => this.#complete(part, finished));
    }
    this.#close(part);
  }

  done(item: JsonObject): void {
    for (const [index, part] of asList(item.content).entries()) {
      if (isObject(part)) this.#parts.write(index, 0, () => this.#complete(index, part));
      this.#close(index);
    }
    this.cut();
  }

  cut(): void {
    for (const part of this.#parts.open) this.#close(part);
  }

  #close(part: number): void {
    this.#parts.write(part, 0, () => this.#of(part).block.close());
    this.#parts.finish(part);
  }

  #of(part: number): TextPart {
    let known = this.#blocks.get(part);
    if (!known) {
      known = { block: this.#writer.textBlock(), sent: new SentText(this.#losses), written: false, cited: false };
      this.#blocks.set(part, known);
    }
    return known;
  }

  #write(part: number, text: Buffer): void {
    const known = this.#of(part);
    known.written = true;
    known.sent.wrote(text);
    known.block.text('text', text);
  }

  #cite(part: number, citation: JsonObject): void {
    const known = this.#of(part);
    known.cited = true;
    known.block.delta({ type: 'citations_delta', citation });
  }

  #complete(index: number, part: JsonObject): void {
    const { block, sent, written, cited } = this.#of(index);
    const text = part.type === 'refusal' ? part.refusal : part.text;
    if (typeof text === 'string' && text !== '') {
      const missing = written ? sent.missing(text) : jsonText(text);
      if (missing === 'elsewhere') block.replace('text', jsonText(text));
      else if (missing) this.#write(index, missing);
    }
    if (cited) return;
    for (const annotation of asList(part.annotations).filter(isObject)) {
      const citation = citationOf(annotation);
      if (citation) this.#cite(index, citation);
    }
  }
}

function citationOf({ type, url, title }: JsonObject): JsonObject | undefined {
  if (type !== 'url_citation' || typeof url !== 'string') return undefined;
  return { type: 'web_search_result_location', url, title: title ?? null, cited_text: '', encrypted_index: '' };
}
