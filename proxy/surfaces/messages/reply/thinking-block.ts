// Turns reasoning of an account's reply into a thinking block with its signature, or into a redacted block (AM35, AM36).
import { asList, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import { jsonText } from '../../../turn/reply/event-bytes.ts';
import { signatureOf } from '../signature.ts';
import type { BlockWriter, OpenBlock } from './block-writer.ts';
import type { DeltaKind, ItemBlocks, ItemOptions, ThinkingDisplay } from './item-blocks.ts';
import { Lanes } from './lanes.ts';

const BLANK_LINE = jsonText('\n\n');

/**
 * The parts of a summary are joined with blank lines. A summary takes precedence over raw reasoning, unless raw reasoning was written
 * first.
 */
export class ThinkingBlock implements ItemBlocks {
  readonly #writer: BlockWriter;
  readonly #display: ThinkingDisplay;
  readonly #parts: Lanes<number>;
  #kind: DeltaKind | undefined;
  #block: OpenBlock | undefined;
  readonly #written = new Set<number>();
  /** The parts that came in deltas. */
  readonly #streamed = new Set<number>();

  constructor(writer: BlockWriter, { thinking, memory }: ItemOptions) {
    this.#writer = writer;
    this.#display = thinking;
    this.#parts = new Lanes(memory);
  }

  delta(kind: DeltaKind, part: number, text: Buffer): void {
    if (this.#display === 'omitted') return;
    this.#kind ??= kind;
    if (this.#kind !== kind) return;
    this.#streamed.add(part);
    if (this.#parts.isFirst(part)) this.#write(part, text);
    else {
      const kept = Buffer.from(text);
      this.#parts.write(part, kept.length, () => this.#write(part, kept));
    }
  }

  partDone(part: number, finished: JsonObject | undefined): void {
    if (!this.#streamed.has(part)) {
      // If the event does not contain the part, the text comes with the finished item.
      const text = finished?.text;
      if (typeof text !== 'string' || text === '') return;
      this.delta(finished?.type === 'summary_text' ? 'summary' : 'reasoning', part, jsonText(text));
    }
    this.#parts.finish(part);
  }

  done(item: JsonObject): void {
    if (this.#display !== 'omitted') this.#complete(item);
    const { encrypted_content: ciphertext } = item;
    this.#sign(typeof ciphertext === 'string' && ciphertext !== '' ? ciphertext : undefined);
  }

  cut(): void {
    for (const part of this.#parts.open) this.#parts.finish(part);
    this.#sign(undefined);
  }

  #complete(item: JsonObject): void {
    const summary = textsIn(item.summary);
    const kind = this.#kind ?? (summary.some((text) => text !== '') ? 'summary' : 'reasoning');
    for (const [part, text] of (kind === 'summary' ? summary : textsIn(item.content)).entries()) {
      this.#parts.write(part, 0, () => {
        if (!this.#written.has(part) && text !== '') this.#write(part, jsonText(text));
      });
      this.#parts.finish(part);
    }
    for (const part of this.#parts.open) this.#parts.finish(part);
  }

  #write(part: number, text: Buffer): void {
    this.#block ??= this.#writer.open({ type: 'thinking', thinking: '', signature: '' });
    if (!this.#written.has(part) && this.#written.size > 0) this.#block.text('thinking', BLANK_LINE);
    this.#written.add(part);
    this.#block.text('thinking', text);
  }

  #sign(ciphertext: string | undefined): void {
    if (!this.#block) {
      if (ciphertext === undefined) return;
      if (this.#display === 'text') {
        this.#writer.open({ type: 'redacted_thinking', data: signatureOf(ciphertext) }).close();
        return;
      }
      this.#block = this.#writer.open({ type: 'thinking', thinking: '', signature: '' });
    }
    this.#block.delta({ type: 'signature_delta', signature: ciphertext === undefined ? '' : signatureOf(ciphertext) });
    this.#block.close();
  }
}

const textsIn = (parts: Json | undefined): readonly string[] =>
  asList(parts).map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : ''));
