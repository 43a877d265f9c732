// The content of a whole message, which equals the sum of the events of a stream (AM55, AM56).
import { isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import { type BlockOutput, decoded, type TextDelta } from './block-writer.ts';

interface Block {
  readonly block: Record<string, Json | undefined>;
  readonly texts: Partial<Record<TextDelta, string[]>>;
  cut: boolean;
}

export class WholeMessage implements BlockOutput {
  readonly #blocks: Block[] = [];

  start(_index: number, block: JsonObject): void {
    this.#blocks.push({ block: { ...block }, texts: {}, cut: false });
  }

  text(index: number, kind: TextDelta, encoded: Buffer): void {
    const { texts } = this.#at(index);
    const pieces = texts[kind] ?? [];
    texts[kind] = pieces;
    pieces.push(decoded(encoded));
  }

  replace(index: number, kind: TextDelta, encoded: Buffer): void {
    this.#at(index).texts[kind] = [decoded(encoded)];
  }

  delta(index: number, delta: JsonObject): void {
    const { block } = this.#at(index);
    if (delta.type === 'signature_delta') block.signature = delta.signature ?? '';
    else block.citations = [...(Array.isArray(block.citations) ? block.citations : []), delta.citation ?? null];
  }

  stop(index: number, cut: boolean): void {
    this.#at(index).cut = cut;
  }

  /** The content. A call that was cut is left out, because its input is not JSON. */
  content(): JsonObject[] {
    return this.#blocks.flatMap(({ block, texts, cut }) => {
      const isCall = 'input' in block;
      if (cut && isCall) return [];
      const { text, thinking, partial_json: input } = texts;
      return [
        {
          ...block,
          ...(text && { text: text.join('') }),
          ...(thinking && { thinking: thinking.join('') }),
          ...(isCall && { input: inputOf(input?.join('') ?? '') }),
        },
      ];
    });
  }

  #at(index: number): Block {
    const block = this.#blocks[index];
    if (!block) throw new Error(`no block ${index}`);
    return block;
  }
}

/** The input of a call. Arguments that are not a JSON object become an empty input. */
function inputOf(text: string): JsonObject {
  try {
    const input: unknown = JSON.parse(text);
    return isObject(input) ? input : {};
  } catch {
    return {};
  }
}
