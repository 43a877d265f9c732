// What was written of a text: if events of the account could not be read, its finished item shows what lacks (F1.9, AM54).

const BACKSLASH = 0x5c;

/** How many events of the reply could not be read so far. */
export type Losses = () => number;

export class SentText {
  readonly #losses: Losses;
  #bytes = 0;
  /** Losses before the last piece. */
  #known = 0;
  /** A piece came after a loss: what lacks may be before it. */
  #hasGap = false;

  constructor(losses: Losses) {
    this.#losses = losses;
  }

  /** @param piece as JSON has it between its quotes */
  wrote(piece: Buffer): void {
    this.#bytes += piece.indexOf(BACKSLASH) === -1 ? piece.length : Buffer.byteLength(JSON.parse(`"${piece.toString()}"`) as string);
    const losses = this.#losses();
    if (losses === this.#known) return;
    this.#known = losses;
    this.#hasGap = true;
  }

  /** The rest of the finished text, encoded; `elsewhere` if it does not begin with what was written; undefined if nothing lacks. */
  missing(finished: string): Buffer | 'elsewhere' | undefined {
    if (this.#losses() === 0) return undefined;
    const whole = Buffer.from(finished);
    if (whole.length <= this.#bytes) return undefined;
    if (this.#hasGap || isInsideCharacter(whole, this.#bytes)) return 'elsewhere';
    return Buffer.from(JSON.stringify(whole.subarray(this.#bytes).toString()).slice(1, -1));
  }
}

const isInsideCharacter = (utf8: Buffer, at: number): boolean => ((utf8[at] ?? 0) & 0xc0) === 0x80;
