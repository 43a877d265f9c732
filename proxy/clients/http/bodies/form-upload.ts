// A multipart body that is passed on as a stream. It is parsed, rules read it part by part, and it is written again for the account. Its
// file is never held whole.
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Readable, Transform } from 'node:stream';
import type { BusboyInstance } from '@fastify/busboy';
import type { HeldUpload, UploadMeter } from '../../../base/bytes/upload-meter.ts';
import type { Counters } from '../../../base/process/metrics.ts';
import type { Upload } from '../../../dispatch/client.ts';
import { Refusal } from '../../../turn/errors/refusal.ts';
import type { FileHead, StreamedPart } from '../../../turn/json/form.ts';
import { FormEncoding } from '../../../turn/json/form-encoding.ts';
import type { PartReader } from '../../../turn/rules/rule.ts';
import { BodyArrival } from './body-arrival.ts';
import { formParser, malformedForm } from './form-parser.ts';
import { END, type FieldMap, FormPieces, FormWriter } from './form-writer.ts';
import { JoinedBody } from './joined-body.ts';

export interface FormUploadOptions {
  /** The client's boundary. */
  readonly boundary: string;
  readonly reader: Required<PartReader>;
  /** The decoder of a compressed body, and its greatest ratio of expansion. */
  readonly decoder: Transform | undefined;
  readonly expansionRatio: number;
  /** The most bytes of a file. */
  readonly bytes: number;
  /** The longest silence of the client. The time in which the account reads nothing does not count. */
  readonly idleMs: number;
  readonly smallPieces: number;
  readonly counters: Counters;
  readonly meter: UploadMeter;
  /** The client's key. */
  readonly key?: string | undefined;
}

/**
 * The longest field. It is more than a prompt of hundreds of pages or a thousand keywords, while all fields together stay far below the 1
 * MiB that may be held.
 */
const MAX_FIELD_BYTES = 65_536;
const MAX_FIELDS_BYTES = 262_144;
const MAX_PARTS = 1_024;

/** Bytes that the body may have in addition to its file, for fields, headers of parts and delimiters. */
export const FORM_ROOM_BYTES = 524_288;

export class FormUpload implements HeldUpload {
  readonly #request: IncomingMessage;
  readonly #options: FormUploadOptions;
  readonly #body: JoinedBody;
  readonly #parser: BusboyInstance;
  readonly #encoding = new FormEncoding(`poolgate-${randomBytes(24).toString('hex')}`);
  readonly #pieces = new FormPieces();
  readonly #ready = Promise.withResolvers<void>();
  readonly #refused = Promise.withResolvers<never>();
  readonly #arrival: BodyArrival;
  #writer: FormWriter | undefined;
  #file: Readable | undefined;
  #passed = 0;
  #fieldBytes = 0;
  /** Whether the last part was read. */
  #isWhole = false;
  #isOver = false;
  #refusal: unknown;

  constructor(request: IncomingMessage, options: FormUploadOptions) {
    this.#request = request;
    this.#options = options;
    this.#refused.promise.catch(() => undefined);
    this.#ready.promise.catch(() => undefined);
    const { idleMs, smallPieces, counters } = options;
    this.#arrival = new BodyArrival(request, {
      idleMs,
      smallPieces,
      counters,
      key: options.key,
      // The client cannot send more while the account does not read its upload.
      isBusy: () => this.#isWhole || request.complete || this.#body.isFull || this.#parser.writableNeedDrain,
      // The client left before the end of its body. Its connection reports that to dispatch.
      closed: () => {
        if (!request.complete) this.close();
      },
      malformed: this.#onMalformed,
      refuse: (refusal) => this.#refuse(refusal),
    });
    this.#body = new JoinedBody(request);
    this.#parser = formParser(options.boundary, { parts: MAX_PARTS, fieldSize: MAX_FIELD_BYTES, fileSize: options.bytes });
    options.meter.add(this);
    this.#listen();
  }

  /**
   * Resolves when every part before the file has passed the rules, so that they are checked before an account gets the form.
   * @throws Refusal
   */
  async ready(): Promise<void> {
    await this.#ready.promise;
    // If a small form has arrived whole, a part after its file may have been refused already.
    if (this.#refusal !== undefined) throw this.#refusal;
  }

  /**
   * The form for one attempt. Another attempt can use it until this one's stream is read.
   * @param map maps each field for the account; absent if the account gets all fields
   */
  open(map?: FieldMap): Upload {
    const writer = new FormWriter(this.#pieces, this.#encoding, map);
    this.#writer = writer;
    // `refused` reports the error. Without a listener it would end the process.
    writer.on('error', () => undefined);
    return {
      stream: writer,
      headers: { 'content-type': this.#encoding.contentType, 'transfer-encoding': 'chunked' },
      refused: this.#refused.promise,
      isTaken: () => writer.taken,
      detach: () => {
        writer.destroy();
        if (writer.taken) this.close();
        return writer.taken && this.#request.complete;
      },
    };
  }

  /** Stops reading the body. */
  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    // Ends the wait of readers for a part.
    this.#ready.reject(malformed());
    const { decoder, meter } = this.#options;
    this.#arrival.stop();
    this.#body.destroy();
    decoder?.destroy();
    this.#parser.destroy();
    this.#file?.destroy();
    this.#writer?.destroy();
    meter.remove(this);
  }

  /** Ends the upload to make room for a body of another key. */
  displace(): void {
    this.#options.counters.add('bodies_displaced');
    this.#refuse(new Refusal('server_is_overloaded'));
  }

  /** The bytes of the body that were read and not passed on yet. */
  get heldBytes(): number {
    const decoded = this.#options.decoder;
    const streams = (this.#file?.readableLength ?? 0) + (this.#writer?.readableLength ?? 0) + this.#parser.writableLength;
    const encoded = decoded ? decoded.writableLength + decoded.readableLength : 0;
    return this.#request.readableLength + this.#body.heldBytes + encoded + streams + this.#pieces.bytes;
  }

  #listen(): void {
    const parser = this.#parser;
    const { decoder } = this.#options;
    parser.on('field', (name: string | undefined, value: string, _nameCut, valueCut) => {
      this.#guarded(() => {
        if (valueCut) throw this.#tooLarge();
        this.#part({ kind: 'field', name: name ?? '', value });
      });
    });
    parser.on('file', (name: string | undefined, stream: Readable, filename: string | undefined, _encoding, mediaType: string) => {
      // A part that breaks off makes the parser fail as well.
      stream.on('error', () => undefined).on('limit', () => this.#refuse(this.#tooLarge()));
      this.#guarded(() => this.#part({ kind: 'file', name: name ?? '', filename, mediaType }, stream));
    });
    parser.on('partsLimit', () => this.#refuse(this.#tooLarge()));
    parser.on('finish', () => this.#guarded(() => this.#finish()));
    parser.on('error', this.#onMalformed);
    const source = decoder ?? this.#body;
    source.on('data', (chunk: Buffer) => this.#guarded(() => this.#count(chunk)));
    // `close` and `refused` report its end.
    this.#body.on('error', () => undefined);
    if (decoder) this.#body.pipe(decoder.on('error', this.#onMalformed));
    source.pipe(parser);
  }

  #count({ length }: Buffer): void {
    this.#passed += length;
    this.#options.meter.sample(this.heldBytes);
    const { bytes, decoder, expansionRatio } = this.#options;
    const isBomb = decoder && this.#arrival.isBomb(this.#passed, expansionRatio);
    if (this.#passed > bytes + FORM_ROOM_BYTES || isBomb) throw this.#tooLarge();
  }

  /** @param stream the bytes, if the part is a file */
  #part(part: StreamedPart, stream?: Readable): void {
    const { name, kind } = part;
    if (kind === 'field') {
      this.#fieldBytes += Buffer.byteLength(name) + Buffer.byteLength(part.value);
      if (this.#fieldBytes > MAX_FIELDS_BYTES) throw this.#tooLarge();
    }
    const parts = this.#options.reader.part(part);
    this.#write(parts, stream);
    if (!stream) return;
    if (parts.some((one) => one.kind === 'file')) this.#ready.resolve();
    else stream.resume();
  }

  #write(parts: readonly StreamedPart[], stream?: Readable): void {
    for (const part of parts) {
      if (part.kind === 'field') this.#pieces.add(part);
      else if (stream) this.#writeFile(part, stream);
    }
  }

  #writeFile(head: FileHead, stream: Readable): void {
    this.#file = stream;
    this.#pieces.add({ kind: 'bytes', head, stream });
  }

  #finish(): void {
    this.#write(this.#options.reader.end());
    this.#pieces.add(END);
    this.#isWhole = true;
  }

  readonly #onMalformed = (): void => this.#refuse(malformed());

  #tooLarge(): Refusal {
    this.#options.counters.add('bodies_too_large');
    return new Refusal('request_too_large');
  }

  /** Runs a listener's work, because an error in a listener would end the process. */
  #guarded(work: () => void): void {
    if (this.#isOver) return;
    try {
      work();
    } catch (thrown) {
      this.#refuse(thrown);
    }
  }

  #refuse(thrown: unknown): void {
    if (this.#isOver) return;
    this.#refusal = thrown;
    this.#ready.reject(thrown);
    this.#refused.reject(thrown);
    this.close();
  }
}

const malformed = (): Refusal => malformedForm('ended early, or is not a form');
