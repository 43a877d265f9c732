// A recording with values instead of placeholders: what the scripted client sends, and what the scripted account answers.
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import type { Exchange, Fixture, RecordedBody } from '../recording/fixture.ts';
import type { HeaderLine } from '../recording/head-redaction.ts';
import { expanded } from '../recording/placeholders.ts';
import { isList, isObject, type Json } from '../turn/json/json.ts';

/** The client API that an exchange uses. */
export type RecordedSurface = 'native' | 'public' | 'chat';

export interface ConversationExchange {
  readonly surface: RecordedSurface;
  readonly method: string;
  readonly path: string;
  readonly headers: readonly HeaderLine[];
  readonly body: ReplayBody | undefined;
  readonly answer: ConversationAnswer | undefined;
  readonly frames: readonly ReplayFrame[];
  readonly end: Exchange['end'];
}

export interface ConversationAnswer {
  readonly status: number;
  readonly headers: readonly HeaderLine[];
  readonly body: ReplayBody | undefined;
}

export interface ReplayBody {
  readonly encoding: string | undefined;
  readonly json?: Json;
  /** The data of events: JSON, `[DONE]` or other text. Comments are left out. */
  readonly events?: readonly { readonly named: boolean; readonly data: Json }[];
  /** The decoded bytes, as the client or account of the recording could have sent them. */
  readonly bytes: Buffer;
}

export interface ReplayFrame {
  readonly from: 'client' | 'account';
  readonly json?: Json;
  readonly text?: string;
  readonly binary?: number;
  readonly close?: number;
}

const FORM_BOUNDARY = 'recorded-form';

/** @param now the time to which times of the recording are relative, in Unix seconds */
export function replayConversation({ exchanges }: Fixture, now: number): readonly ConversationExchange[] {
  const text = (value: string): string => String(expanded(value, { now }));
  const json = (value: Json): Json => expandedJson(value, now);
  const headers = (lines: readonly HeaderLine[]): readonly HeaderLine[] =>
    lines.map(([name, value]) => [name.toLowerCase(), name.toLowerCase() === 'content-type' ? typeOf(value) : text(value)]);
  return exchanges.map(({ request, answer, frames = [], end }) => ({
    surface: surfaceOf(request.path),
    method: request.method,
    path: text(request.path),
    headers: headers(request.headers),
    body: request.body && bodyOf(request.body, json, text),
    answer: answer && {
      status: answer.status,
      headers: headers(answer.headers),
      body: answer.body && bodyOf(answer.body, json, text),
    },
    frames: frames.map(({ after_ms: _, json: recorded, text: other, ...frame }) => ({
      ...frame,
      ...(recorded === undefined ? {} : { json: json(recorded) }),
      ...(other === undefined ? {} : { text: text(other) }),
    })),
    end,
  }));
}

const surfaceOf = (path: string): RecordedSurface => {
  if (path.split('?')[0]?.endsWith('/chat/completions')) return 'chat';
  return path.startsWith('/v1/') ? 'public' : 'native';
};

const typeOf = (value: string): string =>
  value.startsWith('multipart/form-data') ? `multipart/form-data; boundary=${FORM_BOUNDARY}` : value.replace(/<[^>]*>/g, '');

function expandedJson(value: Json, now: number): Json {
  if (typeof value === 'string') return expanded(value, { now });
  if (isList(value)) return value.map((element) => expandedJson(element, now));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, expandedJson(member ?? null, now)]));
}

function bodyOf(recorded: RecordedBody, json: (value: Json) => Json, text: (value: string) => string): ReplayBody {
  const encoding = recorded.encoding;
  if (recorded.json !== undefined) {
    const value = json(recorded.json);
    return { encoding, json: value, bytes: Buffer.from(JSON.stringify(value)) };
  }
  if (recorded.events) {
    const events = recorded.events.flatMap(({ named = false, data }) => (data === undefined ? [] : [{ named, data: json(data) }]));
    return { encoding, events, bytes: Buffer.from(events.map(({ named, data }) => sseText(data, named)).join('')) };
  }
  if (recorded.parts) {
    const parts = recorded.parts.map(({ name, filename, type, value, bytes }) => {
      const file = filename === undefined ? '' : `; filename="${text(filename)}"`;
      const head = `content-disposition: form-data; name="${name}"${file}${type ? `\r\ncontent-type: ${type}` : ''}`;
      return `--${FORM_BOUNDARY}\r\n${head}\r\n\r\n${value === undefined ? 'f'.repeat(bytes) : text(value)}\r\n`;
    });
    return { encoding, bytes: Buffer.from(`${parts.join('')}--${FORM_BOUNDARY}--\r\n`) };
  }
  // A malformed body is replayed as a malformed one, which begins like JSON and does not end.
  return { encoding, bytes: Buffer.from(`{${'x'.repeat(Math.max(0, recorded.bytes - 1))}`) };
}

/** An event as text, with an `event:` line if it had one. */
export function sseText(data: Json, named: boolean): string {
  const type = isObject(data) && typeof data.type === 'string' ? data.type : undefined;
  return `${named && type !== undefined ? `event: ${type}\n` : ''}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}

const ENCODERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: gzipSync,
  'x-gzip': gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
};

/** The bytes in the content encoding of the recorded body. */
export const encodedBytes = ({ encoding = '', bytes }: ReplayBody): Buffer => ENCODERS[encoding]?.(bytes) ?? bytes;
