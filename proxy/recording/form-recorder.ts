// Records a multipart form: the names of its fields, and the lengths of their contents.
import { once } from 'node:events';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import type { BodyReader, ReadBody } from './body-reader.ts';
import type { RecordedPart } from './fixture.ts';
import type { Redactor } from './redactor.ts';
import { isProtocolText } from './vocabulary.ts';

/** The longest wait for the parser after it has got all bytes. */
const LONGEST_PARSE_MS = 1_000;

export class FormRecorder implements BodyReader {
  readonly #parts: RecordedPart[] = [];
  readonly #form: BusboyInstance | undefined;
  #malformed = false;

  constructor(contentType: string, redactor: Redactor) {
    this.#form = formOf(contentType);
    this.#malformed = this.#form === undefined;
    const typeOf = (type: string): { readonly type?: string } => (isProtocolText(type) ? { type } : {});
    this.#form?.on('file', (name, file, filename, _encoding, mimeType) => {
      const index = this.#parts.length;
      const part = { name: redactor.memberName(name), filename: redactor.text(filename ?? ''), ...typeOf(mimeType) };
      this.#parts.push({ ...part, bytes: 0 });
      let bytes = 0;
      file.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        this.#parts[index] = { ...part, bytes };
      });
    });
    this.#form?.on('field', (name, value) => {
      const bytes = Buffer.byteLength(value);
      this.#parts.push({ name: redactor.memberName(name), value: String(redactor.member(name, value)), bytes });
    });
    this.#form?.on('error', () => {
      this.#malformed = true;
    });
  }

  push(chunk: Buffer): void {
    if (!this.#malformed) this.#form?.write(Buffer.from(chunk));
  }

  async end(): Promise<ReadBody> {
    const form = this.#form;
    if (form && !this.#malformed) {
      // A form that was cut never finishes.
      const ended = once(form, 'finish', { signal: AbortSignal.timeout(LONGEST_PARSE_MS) }).catch(() => {
        this.#malformed = true;
      });
      form.end();
      await ended;
    }
    return this.#malformed ? { opaque: 'malformed' } : { parts: this.#parts };
  }
}

/** The parser; undefined for a type without a boundary. */
function formOf(contentType: string): BusboyInstance | undefined {
  try {
    return new Busboy({ headers: { 'content-type': contentType } });
  } catch {
    return undefined;
  }
}
