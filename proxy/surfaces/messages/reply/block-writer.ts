// Writes the blocks of one message one after another (AM51, AM53), and ends the message at a stop sequence (AM48).
import type { JsonObject } from '../../../turn/json/json.ts';
import { jsonText } from '../../../turn/reply/event-bytes.ts';
import type { StopSequences } from '../stop-sequences.ts';

/** The kinds of texts that are sent in deltas, by the member that contains them. */
export type TextDelta = 'text' | 'thinking' | 'partial_json';

/** Receives the blocks. They become events of a stream, or the content of a whole message. */
export interface BlockOutput {
  start(index: number, block: JsonObject): void;
  /** @param encoded a part of the text in the form that JSON has between the quotes; the view is valid during the call */
  text(index: number, kind: TextDelta, encoded: Buffer): void;
  /** Replaces the text of the open block. @throws Refusal if the text was already shown */
  replace(index: number, kind: TextDelta, encoded: Buffer): void;
  delta(index: number, delta: JsonObject): void;
  /** @param cut whether the account's reply ended inside the block */
  stop(index: number, cut: boolean): void;
}

export interface OpenBlock {
  text(kind: TextDelta, encoded: Buffer): void;
  replace(kind: TextDelta, encoded: Buffer): void;
  delta(delta: JsonObject): void;
  close(end?: { readonly cut: boolean }): void;
}

export class BlockWriter {
  readonly #output: BlockOutput;
  readonly #stops: StopSequences | undefined;
  #count = 0;
  /** The stop sequence that ended the message. Later text is dropped. */
  #matched: string | undefined;

  constructor(output: BlockOutput, stops: StopSequences | undefined) {
    this.#output = output;
    this.#stops = stops;
  }

  get matched(): string | undefined {
    return this.#matched;
  }

  /** Opens a block. The caller closes it before it opens another one. */
  open(block: JsonObject): OpenBlock {
    if (this.#matched !== undefined) return DROPPED;
    const index = this.#count++;
    const output = this.#output;
    output.start(index, block);
    return {
      text: (kind, encoded) => output.text(index, kind, encoded),
      replace: (kind, encoded) => output.replace(index, kind, encoded),
      delta: (delta) => output.delta(index, delta),
      close: ({ cut } = { cut: false }) => output.stop(index, cut),
    };
  }

  /** A block of text. It is opened with its first character (AM53). */
  textBlock(): OpenBlock {
    const block = new TextBlock(() => this.open({ type: 'text', text: '', citations: null }));
    return this.#stops ? this.#stoppedBy(this.#stops, block) : block;
  }

  /** Wraps a block to find stop sequences. Only for turns with stop sequences is the text decoded. */
  #stoppedBy(stops: StopSequences, block: OpenBlock): OpenBlock {
    let matcher = stops.matcher();
    const show = (text: string): void => {
      if (text !== '') block.text('text', jsonText(text));
    };
    const read = (piece: Buffer, write: (text: string) => void): void => {
      if (this.#matched !== undefined) return;
      const { text, match } = matcher.read(decoded(piece));
      write(text);
      if (match === undefined) return;
      block.close();
      this.#matched = match;
    };
    return {
      text: (_kind, piece) => read(piece, show),
      replace: (kind, whole) => {
        if (this.#matched === undefined) matcher = stops.matcher();
        read(whole, (text) => block.replace(kind, jsonText(text)));
      },
      delta: (delta) => {
        if (this.#matched === undefined) block.delta(delta);
      },
      close: (end) => {
        if (this.#matched !== undefined) return;
        show(matcher.end());
        block.close(end);
      },
    };
  }
}

/** A block that opens at its first text. Citations that come before are kept until then. */
class TextBlock implements OpenBlock {
  readonly #begin: () => OpenBlock;
  #open: OpenBlock | undefined;
  readonly #early: JsonObject[] = [];

  constructor(begin: () => OpenBlock) {
    this.#begin = begin;
  }

  text(kind: TextDelta, encoded: Buffer): void {
    if (!this.#open) {
      this.#open = this.#begin();
      for (const delta of this.#early) this.#open.delta(delta);
    }
    this.#open.text(kind, encoded);
  }

  replace(kind: TextDelta, encoded: Buffer): void {
    if (this.#open) this.#open.replace(kind, encoded);
    else if (encoded.length > 0) this.text(kind, encoded);
  }

  delta(delta: JsonObject): void {
    if (this.#open) this.#open.delta(delta);
    else this.#early.push(delta);
  }

  close(end?: { readonly cut: boolean }): void {
    this.#open?.close(end);
  }
}

const DROPPED: OpenBlock = { text: () => undefined, replace: () => undefined, delta: () => undefined, close: () => undefined };

export const decoded = (piece: Buffer): string => JSON.parse(`"${piece.toString()}"`) as string;
