// Writes a multipart form while its parts arrive: fields whole, the bytes of a file as fast as they are read.
import { Readable } from 'node:stream';

/** Pieces of the form in order, until `END`. */
export class FormPieces {
  readonly #pieces: (Buffer | Readable | typeof END)[] = [];
  #onPiece: (() => void) | undefined;
  /** Bytes of the pieces that wait, those of files not counted. */
  bytes = 0;

  add(piece: Buffer | Readable | typeof END): void {
    if (Buffer.isBuffer(piece)) this.bytes += piece.length;
    this.#pieces.push(piece);
    this.#onPiece?.();
  }

  take(): Buffer | Readable | typeof END | undefined {
    const piece = this.#pieces.shift();
    if (Buffer.isBuffer(piece)) this.bytes -= piece.length;
    return piece;
  }

  /** Calls back with every piece that is added from now on. */
  onPiece(run: () => void): void {
    this.#onPiece = run;
  }
}

export const END = Symbol('end of the form');

/** The form as a stream for one attempt. It takes the pieces from its first read on; until then another attempt can have them. */
export class FormWriter extends Readable {
  readonly #pieces: FormPieces;
  #file: Readable | undefined;
  #isWanted = false;
  /** Whether it was read from. */
  taken = false;

  constructor(pieces: FormPieces) {
    super();
    this.#pieces = pieces;
  }

  override _read(): void {
    if (!this.taken) {
      this.taken = true;
      this.#pieces.onPiece(() => this.#pump());
    }
    this.#isWanted = true;
    if (this.#file) this.#file.resume();
    else this.#pump();
  }

  #pump(): void {
    while (this.#isWanted && !this.#file && !this.destroyed) {
      const piece = this.#pieces.take();
      if (piece === undefined) return;
      if (piece === END) {
        this.push(null);
        return;
      }
      if (Buffer.isBuffer(piece)) this.#isWanted = this.push(piece);
      else this.#attach(piece);
    }
  }

  #attach(file: Readable): void {
    this.#file = file;
    file.on('data', (chunk: Buffer) => {
      if (this.push(chunk)) return;
      this.#isWanted = false;
      file.pause();
    });
    file.once('end', () => {
      this.#file = undefined;
      this.#pump();
    });
  }
}
