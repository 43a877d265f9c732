// Records one body while it passes. It is decoded, and JSON, events and forms are recorded as the redactor returns them.
import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import type { BodyReader, ReadBody } from './body-reader.ts';
import { EventRecorder } from './event-recorder.ts';
import type { RecordedBody } from './fixture.ts';
import { FormRecorder } from './form-recorder.ts';
import type { Redactor } from './redactor.ts';

/** The most bytes of a decoded body that are held until its end. Of longer JSON only the length is recorded. */
const MAX_HELD_BYTES = 64 * 1024 * 1024;

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

export interface BodyRecorderOptions {
  /** The values of the headers; undefined if absent. */
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  readonly redactor: Redactor;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
}

export class BodyRecorder {
  readonly #options: BodyRecorderOptions;
  readonly #decoder: Transform | undefined;
  readonly #encoding: string | undefined;
  #reader: BodyReader | undefined;
  #bytes = 0;
  #undecodable = false;
  #ended = false;
  readonly #decoded: Promise<void>;

  constructor(options: BodyRecorderOptions) {
    this.#options = options;
    const encoding = options.contentEncoding?.trim().toLowerCase();
    this.#encoding = encoding === undefined || encoding === 'identity' || encoding === '' ? undefined : encoding;
    this.#decoder = this.#encoding === undefined ? undefined : DECODERS[this.#encoding]?.();
    this.#undecodable = this.#encoding !== undefined && this.#decoder === undefined;
    this.#decoded = this.#followDecoder();
  }

  /** Takes bytes as they were sent. They are not kept. */
  push(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#undecodable || this.#ended) return;
    if (this.#decoder) this.#decoder.write(chunk);
    else this.#take(chunk);
  }

  /** Called when the body has ended, complete or not. Undefined for an empty body. */
  async end(): Promise<RecordedBody | undefined> {
    this.#ended = true;
    if (this.#decoder && !this.#undecodable) this.#decoder.end();
    await this.#decoded;
    if (this.#bytes === 0) return undefined;
    const read = (await this.#reader?.end()) ?? { opaque: 'undecodable' as const };
    const known = this.#encoding !== undefined && DECODERS[this.#encoding] !== undefined;
    return {
      bytes: this.#bytes,
      ...(known ? { encoding: this.#encoding } : {}),
      ...(this.#undecodable ? { opaque: 'undecodable' } : read),
    };
  }

  #followDecoder(): Promise<void> {
    const decoder = this.#decoder;
    if (!decoder) return Promise.resolve();
    return new Promise((resolve) => {
      decoder.on('data', (chunk: Buffer) => this.#take(chunk));
      decoder.on('end', resolve);
      decoder.on('error', () => {
        this.#undecodable = true;
        resolve();
      });
    });
  }

  #take(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#reader ??= this.#readerFor(chunk);
    this.#reader.push(chunk);
  }

  /** Chooses the reader by the media type, or by the first byte if there is none, because streams of agent backends have no type (RB16). */
  #readerFor(first: Buffer): BodyReader {
    const { contentType = '', redactor, now } = this.#options;
    const type = contentType.toLowerCase();
    if (type.startsWith('multipart/form-data')) return new FormRecorder(contentType, redactor);
    if (type.startsWith('text/event-stream')) return new EventRecorder(redactor, now);
    const start = first.toString('latin1', 0, 64).trimStart()[0];
    if (start === '{' || start === '[' || type.includes('json')) return new JsonRecorder(redactor);
    return type === '' ? new EventRecorder(redactor, now) : OTHER;
  }
}

class JsonRecorder implements BodyReader {
  readonly #redactor: Redactor;
  #chunks: Buffer[] = [];
  #held = 0;

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  push(chunk: Buffer): void {
    this.#held += chunk.length;
    if (this.#held > MAX_HELD_BYTES) this.#chunks = [];
    else this.#chunks.push(chunk);
  }

  end(): ReadBody {
    const bytes = Buffer.concat(this.#chunks);
    this.#chunks = [];
    if (this.#held > MAX_HELD_BYTES) return { opaque: 'too large' };
    try {
      return { json: this.#redactor.json(JSON.parse(bytes.toString('utf8'))) };
    } catch {
      return { opaque: 'malformed' };
    }
  }
}

const OTHER: BodyReader = {
  push: () => undefined,
  end: () => ({ opaque: 'other' }),
};
