// The format of a recording: one JSON file with the exchanges of a conversation, in the order in which they began.
import { readFile } from 'node:fs/promises';
import { isObject, type Json, parsedJson } from '../turn/json/json.ts';
import type { HeaderLine } from './head-redaction.ts';

/** The version of the format. A replay refuses other versions. */
export const FIXTURE_VERSION = 1;

export interface Fixture {
  readonly format: 'poolgate-recording';
  readonly version: typeof FIXTURE_VERSION;
  /** The number of exchanges that were relayed but not recorded, because the recording was full. */
  readonly left_out: number;
  readonly exchanges: readonly Exchange[];
}

export interface Exchange {
  /** The time since the start of the recording. All times are in coarse steps (see timing.ts). */
  readonly at_ms: number;
  readonly request: RecordedRequest;
  /** Absent if the account could not be reached, or the connection ended before an answer. */
  readonly answer?: RecordedAnswer;
  /** The frames of an accepted websocket, in the order of their arrival at the relay. */
  readonly frames?: readonly RecordedFrame[];
  readonly end: ExchangeEnd;
}

/**
 * How the exchange ended. `cut`: the account's connection died. `left`: the client's connection died. `unreachable`: there was no
 * connection.
 */
export type ExchangeEnd = 'complete' | 'cut' | 'left' | 'unreachable';

export interface RecordedRequest {
  /** The method; `WS` for the upgrade to a websocket. */
  readonly method: string;
  readonly path: string;
  readonly headers: readonly HeaderLine[];
  readonly body?: RecordedBody;
}

export interface RecordedAnswer {
  /** The time since the request's last byte. */
  readonly after_ms: number;
  readonly status: number;
  readonly headers: readonly HeaderLine[];
  readonly body?: RecordedBody;
}

/** A decoded body. It has exactly one of `json`, `events`, `parts` and `opaque`. */
export interface RecordedBody {
  /** The number of bytes that were sent, before decoding. */
  readonly bytes: number;
  /** The content encoding with which it was sent. */
  readonly encoding?: string;
  readonly json?: Json;
  readonly events?: readonly RecordedEvent[];
  readonly parts?: readonly RecordedPart[];
  /** The reason why only the length is recorded. */
  readonly opaque?: 'malformed' | 'undecodable' | 'other' | 'too large';
}

/** One event of an SSE stream. */
export interface RecordedEvent {
  /** The time since the previous event, or since the answer's head. */
  readonly after_ms?: number;
  /** Whether the event has an `event:` line. */
  readonly named?: true;
  /** JSON data, `[DONE]`, or the placeholder of other data. Absent for a comment. */
  readonly data?: Json;
}

export interface RecordedPart {
  readonly name: string;
  readonly filename?: string;
  readonly type?: string;
  /** The value of a field. A file has only `bytes`. */
  readonly value?: string;
  readonly bytes: number;
}

export interface RecordedFrame {
  readonly from: 'client' | 'account';
  /** The time since the previous frame. */
  readonly after_ms?: number;
  readonly json?: Json;
  /** The placeholder of a text that is not JSON. */
  readonly text?: string;
  /** Length of a binary message. */
  readonly binary?: number;
  /** The code of a close frame; 1005 for one without a code. */
  readonly close?: number;
}

/** @throws Error with a message for the operator */
export async function readFixture(path: string): Promise<Fixture> {
  const text = await readFile(path, 'utf8').catch((thrown: unknown) => {
    throw new Error(`${path} cannot be read: ${thrown instanceof Error && 'code' in thrown ? thrown.code : 'unknown reason'}`);
  });
  const fixture = parsedJson(text);
  if (!isObject(fixture) || fixture.format !== 'poolgate-recording') throw new Error(`${path} is not a recording of poolgate`);
  if (fixture.version !== FIXTURE_VERSION)
    throw new Error(`${path} has version ${String(fixture.version)} of the format; this program reads version ${FIXTURE_VERSION}`);
  if (!Array.isArray(fixture.exchanges)) throw new Error(`${path} has no list of exchanges`);
  return fixture as unknown as Fixture;
}

/** The recording as text. Each exchange member, frame and event has a line, so that people can read it and see changes in a diff. */
export function fixtureText(fixture: Fixture): string {
  const lines = (value: unknown, indent: string, open: readonly string[]): string => {
    if (Array.isArray(value) && open[0] === '*') {
      if (value.length === 0) return '[]';
      return `[\n${value.map((one) => `${indent}  ${lines(one, `${indent}  `, open.slice(1))}`).join(',\n')}\n${indent}]`;
    }
    if (isObject(value) && open[0] === '{') {
      const members = Object.entries(value).map(([name, member]) => {
        const opens = name === 'exchanges' || name === 'frames' || name === 'events' || name === 'headers';
        const inside = opens ? ['*', ...(name === 'exchanges' ? ['{'] : [])] : ['request', 'answer', 'body'].includes(name) ? ['{'] : [];
        return `${indent}  ${JSON.stringify(name)}: ${lines(member, `${indent}  `, inside)}`;
      });
      return `{\n${members.join(',\n')}\n${indent}}`;
    }
    return JSON.stringify(value);
  };
  return `${lines(fixture, '', ['{'])}\n`;
}
