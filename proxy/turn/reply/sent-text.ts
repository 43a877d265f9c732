// Counts what was written of a text. If events of the account could not be read, the finished item shows which text is missing (F1.9,
// AM54).
import { jsonText, textLength } from './event-bytes.ts';

/** Returns how many events of the reply could not be read so far. */
export type Losses = () => number;

export class SentText {
  readonly #losses: Losses;
  #bytes = 0;
  /** The number of losses before the last piece. */
  #known = 0;
  /** Whether a piece came after a loss. Missing text may be before that piece. */
  #hasGap = false;

  constructor(losses: Losses) {
    this.#losses = losses;
  }

  /** @param piece text in the form that JSON has between its quotes */
  wrote(piece: Buffer): void {
    this.#bytes += textLength(piece, 0, piece.length);
    const losses = this.#losses();
    if (losses === this.#known) return;
    this.#known = losses;
    this.#hasGap = true;
  }

  /**
   * The missing end of the finished text, encoded; `elsewhere` if text is missing before what was written; undefined if nothing is missing.
   */
  missing(finished: string): Buffer | 'elsewhere' | undefined {
    if (this.#losses() === 0) return undefined;
    const whole = Buffer.from(finished);
    if (whole.length <= this.#bytes) return undefined;
    if (this.#hasGap || isInsideCharacter(whole, this.#bytes)) return 'elsewhere';
    return jsonText(whole.subarray(this.#bytes).toString());
  }
}

const isInsideCharacter = (utf8: Buffer, at: number): boolean => ((utf8[at] ?? 0) & 0xc0) === 0x80;
