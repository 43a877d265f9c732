// The multipart forms of one client's request: those that are held in memory until the turn ends, and those that are passed on as a stream.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { UploadMeter } from '../../../base/bytes/upload-meter.ts';
import type { Upload } from '../../../dispatch/client.ts';
import { Refusal } from '../../../turn/errors/refusal.ts';
import type { FormPart } from '../../../turn/json/form.ts';
import type { PartReader } from '../../../turn/rules/rule.ts';
import { boundaryOf } from './form-parser.ts';
import { FORM_ROOM_BYTES, FormUpload } from './form-upload.ts';
import type { FieldMap } from './form-writer.ts';
import { readForm } from './multipart-form.ts';
import { askForBody, type BodyOptions, decoderOf } from './request-body.ts';

export interface ClientFormsOptions {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: BodyOptions;
  readonly uploads: UploadMeter;
  /** Counts bytes against the memory limit of all bodies until the turn has ended. @throws Refusal `server_is_overloaded` */
  readonly hold: (bytes: number, displaced?: () => void) => void;
}

/** Bytes that a file upload may have in addition to its file, for fields, headers of parts and delimiters. */
const FORM_BYTES = 65_536;

/** The bytes that a streamed upload may hold: its fields, and the buffers of its streams. */
const STREAMED_BYTES = 1_048_576;

export class ClientForms {
  readonly #options: ClientFormsOptions;
  #streamed: FormUpload | undefined;

  constructor(options: ClientFormsOptions) {
    this.#options = options;
  }

  /** Reads the form of a file upload. The file stays in memory until the turn ends. @throws Refusal */
  async held(): Promise<readonly FormPart[]> {
    const { request, body, hold } = this.#options;
    const { limits } = body;
    const parts = await readForm(request, { ...body, limits: { ...limits, request_body_bytes: limits.file_bytes + FORM_BYTES } });
    hold(parts.reduce((sum, part) => sum + (part.kind === 'file' ? part.bytes.length : 0), 0));
    return parts;
  }

  /** Reads a form up to its file. @throws Refusal */
  async streamed(reader: Required<PartReader>): Promise<(map?: FieldMap) => Upload> {
    const { request, response, body, uploads: meter, hold } = this.#options;
    const { limits, timeouts, counters, share } = body;
    const boundary = boundaryOf(request.headers['content-type']);
    const decoder = decoderOf(request);
    if (Number(request.headers['content-length'] ?? 0) > limits.upload_bytes + FORM_ROOM_BYTES) {
      counters.add('bodies_too_large');
      throw new Refusal('request_too_large');
    }
    hold(STREAMED_BYTES, () => this.#streamed?.displace());
    askForBody(request, response);
    const form = new FormUpload(request, {
      boundary,
      reader,
      decoder: decoder?.(),
      expansionRatio: limits.expansion_ratio,
      bytes: limits.upload_bytes,
      idleMs: timeouts.client_body_idle_ms,
      smallPieces: limits.body_small_pieces,
      counters,
      meter,
      key: share.key,
    });
    this.#streamed = form;
    response.once('close', () => form.close());
    await form.ready();
    return (map) => form.open(map);
  }

  /** Stops reading a form that is passed on. */
  close(): void {
    this.#streamed?.close();
  }
}
