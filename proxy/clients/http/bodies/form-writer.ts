// Writes a multipart form for one account while its parts arrive. Fields are written whole, and the bytes of a file as fast as they are
// read.
import { Readable } from 'node:stream';
import type { FileHead, FormField, StreamedPart } from '../../../turn/json/form.ts';
import { type FormEncoding, LINE_BREAK } from '../../../turn/json/form-encoding.ts';
import { fileType } from '../../../turn/json/media-type.ts';

/** The head of a file in a form. Its bytes follow. */
export interface FilePiece {
  readonly kind: 'bytes';
  readonly head: FileHead;
  readonly stream: Readable;
}

type Piece = FormField | FilePiece | typeof END;

/** Maps a field to the parts that an account gets instead of it. */
export type FieldMap = (field: FormField) => readonly StreamedPart[];

/** The parts of the form in order, until `END`. */
export class FormPieces {
  readonly #pieces: Piece[] = [];
  #onPiece: (() => void) | undefined;
  /** The bytes of waiting fields. */
  bytes = 0;

  add(piece: Piece): void {
    this.bytes += bytesOf(piece);
    this.#pieces.push(piece);
    this.#onPiece?.();
  }

  take(): Piece | undefined {
    const piece = this.#pieces.shift();
    if (piece !== undefined) this.bytes -= bytesOf(piece);
    return piece;
  }

  /** Calls back for every piece that is added from now on. */
  onPiece(run: () => void): void {
    this.#onPiece = run;
  }
}

export const END = Symbol('end of the form');

const bytesOf = (piece: Piece): number =>
  piece !== END && piece.kind === 'field' ? Buffer.byteLength(piece.name) + Buffer.byteLength(piece.value) : 0;

/** The form as a stream for one attempt. It takes the parts from its first read on. Before that another attempt can use them. */
export class FormWriter extends Readable {
  readonly #pieces: FormPieces;
  readonly #encoding: FormEncoding;
  readonly #map: FieldMap | undefined;
  #file: Readable | undefined;
  #isWanted = false;
  /** Whether the stream has been read. */
  taken = false;

  /** @param map absent if the account gets every field unchanged */
  constructor(pieces: FormPieces, encoding: FormEncoding, map?: FieldMap) {
    super();
    this.#pieces = pieces;
    this.#encoding = encoding;
    this.#map = map;
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
        this.push(this.#encoding.end);
        this.push(null);
        return;
      }
      if (piece.kind === 'field') this.#write(piece);
      else this.#attach(piece);
    }
  }

  #write(field: FormField): void {
    for (const part of this.#map?.(field) ?? [field]) {
      if (part.kind === 'field') this.#isWanted = this.push(this.#encoding.field(part.name, part.value));
    }
  }

  #attach({ head: { name, filename, mediaType }, stream: file }: FilePiece): void {
    this.#file = file;
    this.push(this.#encoding.fileHead(name, filename ?? '', fileType(mediaType)));
    file.on('data', (chunk: Buffer) => {
      if (this.push(chunk)) return;
      this.#isWanted = false;
      file.pause();
    });
    file.once('end', () => {
      this.#file = undefined;
      this.push(LINE_BREAK);
      this.#pump();
    });
  }
}
