// Reads a multipart form into memory. It returns the parts in order, or refuses a body that is not a form.
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import type { BusboyInstance } from '@fastify/busboy';
import type { Counters } from '../../../base/process/metrics.ts';
import { Refusal } from '../../../turn/errors/refusal.ts';
import type { BodyFile } from '../../../turn/json/body-file.ts';
import type { FormPart } from '../../../turn/json/form.ts';
import type { Json } from '../../../turn/json/json.ts';
import type { Body } from '../../../turn/turn.ts';
import { boundaryOf, formParser, malformedForm } from './form-parser.ts';
import { type BodyOptions, readBody } from './request-body.ts';

/** The most parts. Forms of the API have far fewer. */
export const MAX_PARTS = 128;
export const MAX_FIELD_BYTES = 1_048_576;
const MAX_NAME_LENGTH = 256;

/** The bytes that are parsed before other work of the event loop runs. */
const SLICE_BYTES = 262_144;
/** The longest time of parsing. All bytes are in memory, so a parser which has not ended by then never will. */
const LONGEST_PARSE_MS = 10_000;

/**
 * Reads and parses the body of a multipart row within the limits of all bodies: size, compression, silence, memory.
 * @throws Refusal `unsupported_media_type`, and those of `readBody` and `parseForm`
 */
export async function readForm(request: IncomingMessage, options: BodyOptions): Promise<readonly FormPart[]> {
  const contentType = request.headers['content-type'];
  // Checked before the body, because a request that is not a form need not be sent at all.
  const boundary = boundaryOf(contentType);
  return parseForm(await readBody(request, options), boundary, options.counters);
}

/**
 * The parts in order. The bytes of files are copied, so that the body is not kept.
 * @throws Refusal `invalid_request` for bytes that are not a form; `request_too_large` for too many parts, or a field that is too long
 */
export async function parseForm(bytes: Buffer, boundary: string, counters: Counters): Promise<readonly FormPart[]> {
  const tooLarge = (what: string): Refusal => {
    counters.add('bodies_too_large');
    return new Refusal('request_too_large', { message: `The multipart body has ${what}.` });
  };
  const announced = countParts(bytes, boundary);
  if (announced > MAX_PARTS) throw tooLarge(`more than ${MAX_PARTS} parts`);

  const parts: (FormPart | undefined)[] = [];
  let refusal: Refusal | undefined;
  const parser = formParser(boundary, { parts: MAX_PARTS, fieldSize: MAX_FIELD_BYTES });
  parser.on('field', (name: string | undefined, value: string, _nameCut, valueCut) => {
    if (valueCut) refusal ??= tooLarge(`a field of more than ${MAX_FIELD_BYTES} bytes`);
    parts.push({ kind: 'field', name: name ?? '', value });
  });
  parser.on('file', (name: string | undefined, stream, filename: string | undefined, _encoding, mediaType) => {
    const index = parts.push(undefined) - 1;
    const chunks: Buffer[] = [];
    // A part that breaks off makes the parser fail as well.
    stream.on('error', () => undefined);
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      parts[index] = { kind: 'file', name: name ?? '', filename, mediaType, bytes: Buffer.concat(chunks) };
    });
  });
  await parsed(parser, bytes, () => refusal !== undefined);
  if (refusal) throw refusal;
  // The parser silently skips a part with malformed headers, which would be lost without this check.
  if (parts.length !== announced || parts.includes(undefined)) throw malformedForm('has a part that is malformed');
  const whole = parts as readonly FormPart[];
  if (whole.some(({ name }) => name === '' || name.length > MAX_NAME_LENGTH)) throw malformedForm('has a part without a proper name');
  return whole;
}

/** Gives the bytes to the parser in slices. @param failed returns whether the rest need not be parsed */
async function parsed(parser: BusboyInstance, bytes: Buffer, failed: () => boolean): Promise<void> {
  const finished = once(parser, 'finish', { signal: AbortSignal.timeout(LONGEST_PARSE_MS) });
  finished.catch(() => undefined);
  // Listens for errors after the first one.
  parser.on('error', () => undefined);
  try {
    for (let at = 0; at < bytes.length && !failed(); at += SLICE_BYTES) {
      if (at > 0) await setImmediate();
      const slice = bytes.subarray(at, at + SLICE_BYTES);
      await Promise.race([finished, new Promise<void>((written) => parser.write(slice, () => written()))]);
    }
    if (failed()) return;
    parser.end();
    await finished;
  } catch {
    throw malformedForm('ended early, or is not a form');
  }
}

/** The number of delimiters before the closing one. Each begins a part. */
function countParts(bytes: Buffer, boundary: string): number {
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  const atStart = bytes.subarray(0, delimiter.length - 2).equals(delimiter.subarray(2));
  let count = 0;
  for (let at = atStart ? -2 : bytes.indexOf(delimiter); at !== -1 && count <= MAX_PARTS; at = bytes.indexOf(delimiter, at)) {
    at += delimiter.length;
    if (bytes.toString('latin1', at, at + 2) === '--') break;
    count++;
  }
  return count;
}

/**
 * The form as a Body for rules. Fields are strings, files are base64, and several parts of one name are a list.
 * @throws Refusal `invalid_request` for a name that a body must not have
 */
export function bodyOfForm(parts: readonly FormPart[]): Body {
  const members = new Map<string, Json[]>();
  for (const part of parts) {
    if (part.name === '__proto__') throw new Refusal('invalid_request', { message: 'The request body has a forbidden member name.' });
    const values = members.get(part.name);
    if (values) values.push(memberOf(part));
    else members.set(part.name, [memberOf(part)]);
  }
  return Object.fromEntries([...members].map(([name, values]) => [name, values.length === 1 ? values[0] : values]));
}

function memberOf(part: FormPart): string | BodyFile {
  if (part.kind === 'field') return part.value;
  const { filename, mediaType, bytes } = part;
  return { type: 'form_file', filename, media_type: mediaType, data: bytes.toString('base64') };
}
