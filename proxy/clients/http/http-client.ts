// The client of one turn over HTTP: its body, its answer or stream, and whether it has left.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BodyMemory, BodyShare } from '../../base/bytes/body-memory.ts';
import type { UploadMeter } from '../../base/bytes/upload-meter.ts';
import type { Counters } from '../../base/process/metrics.ts';
import { nextSlice } from '../../base/process/slices.ts';
import type { PipeEnd, PipeOptions, TurnClient, Upload } from '../../dispatch/client.ts';
import { Refusal } from '../../turn/errors/refusal.ts';
import type { FormPart } from '../../turn/json/form.ts';
import { isForm } from '../../turn/json/media-type.ts';
import type { LiveTurn } from '../../turn/live-turn.ts';
import type { Sink } from '../../turn/reply/sink.ts';
import type { PartReader } from '../../turn/rules/rule.ts';
import type { Body } from '../../turn/turn.ts';
import { ClientForms } from './bodies/client-forms.ts';
import type { FieldMap } from './bodies/form-writer.ts';
import { type ParsedBody, parseBody, parseLargeBody } from './bodies/json-body.ts';
import { bodyOfForm, readForm } from './bodies/multipart-form.ts';
import { askForBody, type BodyOptions, readBody } from './bodies/request-body.ts';
import { checkUpload, openUpload } from './bodies/upload.ts';
import { connectionOf } from './connections/client-connection.ts';
import { CollectSink, ItemCollector } from './replies/collect-sink.ts';
import { pipeAnswer } from './replies/piped-answer.ts';
import { breakOff, writeAnswer, writeRefusal } from './replies/write-answer.ts';

export interface HttpClientOptions {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The memory limit over the bodies of all clients. */
  readonly guard: BodyMemory;
  /** Measures what is held of uploads that are passed on as streams. */
  readonly uploads: UploadMeter;
  readonly counters: Counters;
}

/** The size from which parsing a body takes about as long as a slice. Those of two clients then do not follow each other at once. */
const SLICE_BYTES = 524_288;

/** Methods without a request body. */
const BODYLESS: ReadonlySet<string | undefined> = new Set(['GET', 'DELETE']);

export class HttpClient implements TurnClient {
  #streams = false;
  #bodyBytes = 0;
  #isLarge = false;
  readonly #turn: LiveTurn;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #guard: BodyMemory;
  readonly #uploads: UploadMeter;
  readonly #counters: Counters;
  /** Undefined for a request whose body is not read as a form. */
  #forms: ClientForms | undefined;

  constructor(turn: LiveTurn, { request, response, guard, uploads, counters }: HttpClientOptions) {
    this.#turn = turn;
    this.#request = request;
    this.#response = response;
    this.#guard = guard;
    this.#uploads = uploads;
    this.#counters = counters;
  }

  get streams(): boolean {
    return this.#streams;
  }

  get bodyBytes(): number {
    return this.#bodyBytes;
  }

  get isLarge(): boolean {
    return this.#isLarge;
  }

  get shown(): boolean {
    return this.#response.headersSent;
  }

  /** Whether the client left. A client that ended its side before the end of its body counts as left, although it might still read. */
  get gone(): boolean {
    return this.#response.destroyed || (this.#request.socket.readableEnded && !this.#request.complete);
  }

  get isStopped(): boolean {
    return connectionOf(this.#request.socket).isStopped;
  }

  async json(): Promise<Body> {
    const request = this.#request;
    const contentType = request.headers['content-type'];
    const options = this.#bodyOptions();
    const kind = this.#turn.dispatchedKind;
    const { payload } = kind ?? {};
    if (payload === 'form' || (payload === 'json or form' && isForm(contentType))) return bodyOfForm(await readForm(request, options));
    checkMediaType(contentType);
    const bytes = await readBody(request, options);
    if (bytes.length >= SLICE_BYTES) await nextSlice(options.share.key);
    const body =
      bytes.length === 0 && kind?.emptyBody === true
        ? {}
        : this.#bodyOf(parseBody(bytes, options) ?? (await this.#parseLarge(bytes, options)));
    this.#streams = body.stream === true;
    this.#bodyBytes = bytes.length;
    return body;
  }

  form(): Promise<readonly FormPart[]> {
    return this.#openForms().held();
  }

  parts(reader: Required<PartReader>): Promise<(map?: FieldMap) => Upload> {
    return this.#openForms().streamed(reader);
  }

  /** Checks the headers of the body. The returned function starts to read the body. Null for a method without a body. @throws Refusal */
  upload(): (() => Upload) | null {
    const request = this.#request;
    const limits = checkUpload(request, this.#turn, this.#counters);
    if (BODYLESS.has(request.method)) return null;
    return () => {
      askForBody(request, this.#response);
      return openUpload(request, limits, this.#counters);
    };
  }

  sink(from?: 'decoded'): Sink {
    const turn = this.#turn;
    if (!this.#streams && turn.surface.collects) return new CollectSink(turn, this, turn.collector());
    if (!this.#streams && from === 'decoded') return new CollectSink(turn, this, new ItemCollector(turn));
    return turn.stream(this.#response);
  }

  answer(status: number, headers: Readonly<Record<string, string>>, body: Buffer | string): void {
    this.#forms?.close();
    writeAnswer(this.#response, status, headers, body);
  }

  refuse(refusal: Refusal): void {
    this.#forms?.close();
    if (this.shown) breakOff(this.#response);
    else writeRefusal(this.#response, refusal, this.#turn.id);
  }

  breakOff(): void {
    breakOff(this.#response);
  }

  pipe(reply: IncomingMessage, options: PipeOptions): Promise<PipeEnd> {
    return pipeAnswer(reply, this.#response, options);
  }

  #openForms(): ClientForms {
    const hold = (bytes: number, displaced?: () => void): void => this.#hold(bytes, displaced);
    const parts = { request: this.#request, response: this.#response, uploads: this.#uploads };
    this.#forms = new ClientForms({ ...parts, body: this.#bodyOptions(), hold });
    return this.#forms;
  }

  /** @throws Refusal */
  async #parseLarge(bytes: Buffer, options: BodyOptions): Promise<ParsedBody> {
    this.#isLarge = true;
    const left = new AbortController();
    const listens = this.onGone(() => left.abort(new Refusal('invalid_request', { message: 'The request body ended early.' })));
    try {
      return await parseLargeBody(bytes, options, left.signal);
    } finally {
      listens();
    }
  }

  /** The body. Memory that is counted for its JSON is released after the turn. */
  #bodyOf({ body, release }: ParsedBody): Body {
    if (release && this.#response.destroyed) release();
    else if (release) this.#response.once('close', release);
    return body;
  }

  /** Counts bytes against the memory limit of all bodies until the turn has ended. @throws Refusal `server_is_overloaded` */
  #hold(bytes: number, displaced?: () => void): void {
    const held = this.#share().body(displaced);
    if (!held.take(bytes, this.#turn.limits.bodies_in_memory_bytes)) {
      this.#counters.add('bodies_guard_refused');
      throw new Refusal('server_is_overloaded');
    }
    if (this.#response.destroyed) held.give();
    else this.#response.once('close', () => held.give());
  }

  #share(): BodyShare {
    return this.#guard.of(this.#turn.identity?.key.id);
  }

  #bodyOptions(): BodyOptions {
    const { limits, timeouts } = this.#turn;
    const begin = (): void => askForBody(this.#request, this.#response);
    return { limits, timeouts, share: this.#share(), counters: this.#counters, begin };
  }

  onGone(left: () => void): () => void {
    const response = this.#response;
    const connection = connectionOf(this.#request.socket);
    if (response.destroyed || connection.isStopped) {
      left();
      return () => undefined;
    }
    const closed = (): void => {
      if (!response.writableFinished) left();
    };
    response.on('close', closed);
    const cancelStop = connection.onStop(left);
    return () => {
      response.off('close', closed);
      cancelStop();
    };
  }
}

/** Checks the media type. A missing Content-Type counts as JSON on JSON rows (Q1). */
function checkMediaType(type: string | undefined): void {
  if (type === undefined || type === 'application/json') return;
  const essence = type.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (essence !== 'application/json' && !(essence.startsWith('application/') && essence.endsWith('+json'))) {
    throw new Refusal('unsupported_media_type', { message: 'The body must be JSON: send `Content-Type: application/json`.' });
  }
}
