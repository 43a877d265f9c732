// THE LIST of hostile answers over HTTP: statuses, heads, lengths, codings, interim answers, and answers without end.
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { rawHead, rawResponse } from '../../support/network/raw-upstream.ts';
import type { HandAnswer } from '../wire/exchanges.ts';

export interface HostileAnswer {
  readonly name: string;
  readonly answer: HandAnswer;
}

const RESPONSE = JSON.stringify({ id: 'r', object: 'response', status: 'completed', model: 'model-a', output: [] });
const DELTA = 'data: {"type":"response.output_text.delta","sequence_number":0,"delta":"a"}\n\n';
const STREAM = `${DELTA}data: {"type":"response.completed","sequence_number":1,"response":${RESPONSE}}\n\n`;
const EVENTS = { 'content-type': 'text/event-stream' };
const JSON_TYPE = { 'content-type': 'application/json' };
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

const bytes =
  (text: string | Buffer): HandAnswer =>
  (_writer, gateway) =>
    void gateway.end(text);

/** An answer after which the connection stays open. */
const kept =
  (text: string | Buffer): HandAnswer =>
  (_writer, gateway) =>
    void gateway.write(text);

/** Twice the memory that a reply may use. */
const ENDLESS_BYTES = 2 << 20;

/** Sends the same piece again and again, until the gateway closes the connection, or until a bound shows that it never will. */
const endless =
  (head: string, piece: string): HandAnswer =>
  (_writer, gateway) => {
    gateway.write(head);
    const chunk = Buffer.from(piece.repeat(Math.max(1, Math.floor(16_384 / piece.length))));
    repeat(gateway, chunk, ENDLESS_BYTES);
  };

/** Sends the same bytes as fast as the gateway reads them, until it closes the connection. */
export function repeat(gateway: Socket, chunk: Buffer, left: number): void {
  if (gateway.destroyed || left <= 0) return;
  const next = (): void => repeat(gateway, chunk, left - chunk.length);
  if (gateway.write(chunk)) setImmediate(next);
  else gateway.once('drain', next);
}

const chunked = { ...JSON_TYPE, 'transfer-encoding': 'chunked' };
const head = (more: Readonly<Record<string, string | number>>): string => rawHead(200, { ...JSON_TYPE, ...more });
const withStatus = (status: string, body: string): string => rawResponse(200, body).replace(' 200 ', ` ${status} `);

const STATUSES = [
  '000',
  '001',
  '099',
  '101',
  '199',
  '201',
  '202',
  '203',
  '204',
  '205',
  '206',
  '207',
  '226',
  '299',
  '300',
  '301',
  '302',
  '303',
];
const MORE_STATUSES = [
  '304',
  '305',
  '306',
  '307',
  '308',
  '399',
  '400',
  '402',
  '417',
  '421',
  '425',
  '428',
  '431',
  '451',
  '499',
  '505',
  '599',
  '600',
];
const ODD_STATUSES = ['700', '999', '1000', '20', '2', '-1', 'abc', '', '2OO', '200.5', '0x200', '٢٠٠'];

const WAITS = [
  '0',
  '-1',
  '1e21',
  '1e300',
  'NaN',
  'Infinity',
  '99999999999999999999',
  '1.5',
  ' 7',
  '7, 8',
  'Fri, 31 Dec 9999 23:59:59 GMT',
  'x'.repeat(5_000),
];

const ALL: Readonly<Record<string, HandAnswer>> = {
  ...Object.fromEntries(
    [...STATUSES, ...MORE_STATUSES, ...ODD_STATUSES].map((status) => [`status ${status}`, bytes(withStatus(status, RESPONSE))]),
  ),
  ...Object.fromEntries(
    ['201', '204', '206', '304', '600'].map((status) => [
      `a stream of status ${status}`,
      bytes(rawResponse(200, STREAM, EVENTS).replace(' 200 ', ` ${status} `)),
    ]),
  ),
  ...Object.fromEntries(
    WAITS.map((wait) => [`Retry-After ${wait.slice(0, 40)}`, bytes(rawResponse(429, '{"error":{"code":"x"}}', { 'retry-after': wait }))]),
  ),
  ...Object.fromEntries(
    WAITS.map((wait) => [
      `reset-at ${wait.slice(0, 40)}`,
      bytes(
        rawResponse(200, RESPONSE, {
          'x-agent-primary-reset-at': wait,
          'x-agent-primary-used-percent': wait,
          'x-agent-primary-window-minutes': wait,
        }),
      ),
    ]),
  ),
  'nothing at all': bytes(''),
  'half a status line': bytes('HTTP/1.'),
  'half a head': bytes('HTTP/1.1 200 OK\r\ncontent-ty'),
  'HTTP/0.9': bytes('<html>'),
  'HTTP/2.0': bytes(rawResponse(200, RESPONSE).replace('HTTP/1.1', 'HTTP/2.0')),
  'HTTP/1.0 until its end': bytes(`HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n${RESPONSE}`),
  'another protocol': bytes('SSH-2.0-OpenSSH_9.6\r\n'),
  TLS: bytes(Buffer.from('16030300020100', 'hex')),
  'LF alone': bytes(rawResponse(200, RESPONSE).replaceAll('\r\n', '\n')),
  'a folded header': bytes(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-a: b\r\n c\r\ncontent-length: ${RESPONSE.length}\r\n\r\n${RESPONSE}`,
  ),
  'a NUL in a header': bytes(rawResponse(200, RESPONSE, { 'openai-model': 'a\0b' })),
  'CR in a header': bytes(rawResponse(200, RESPONSE, { 'openai-model': 'a\rset-cookie: b' })),
  'a header of 100 KB': bytes(rawResponse(200, RESPONSE, { 'x-large': 'a'.repeat(100_000) })),
  '20,000 headers': bytes(rawResponse(200, RESPONSE, Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`x-${i}`, 1])))),
  'headers without end': endless('HTTP/1.1 200 OK\r\n', 'x-a: b\r\n'),
  'a status line without end': endless('HTTP/1.1 200 ', 'O'),
  'two lengths': bytes(head({ 'content-length': RESPONSE.length, 'Content-Length': 3 }) + RESPONSE),
  'a negative length': bytes(head({ 'content-length': -1 }) + RESPONSE),
  'a length past all numbers': bytes(head({ 'content-length': '99999999999999999999999' }) + RESPONSE),
  'more than its length': kept(rawResponse(200, RESPONSE, { 'content-length': RESPONSE.length - 5 })),
  'less than its length': bytes(rawResponse(200, RESPONSE).slice(0, -5)),
  'less than its length, and silence': kept(rawResponse(200, RESPONSE).slice(0, -5)),
  'length and chunks': bytes(
    `${head({ 'content-length': 5, 'transfer-encoding': 'chunked' })}${RESPONSE.length.toString(16)}\r\n${RESPONSE}\r\n0\r\n\r\n`,
  ),
  'chunks that are none': bytes(`${rawHead(200, chunked)}zz\r\n`),
  'a negative chunk': bytes(`${rawHead(200, chunked)}-5\r\nhello\r\n`),
  'a chunk past all numbers': bytes(`${rawHead(200, chunked)}ffffffffffffffffff\r\n${RESPONSE}`),
  'a chunk extension without end': endless(`${rawHead(200, chunked)}5;`, 'a'),
  'trailers without end': endless(`${rawHead(200, chunked)}${RESPONSE.length.toString(16)}\r\n${RESPONSE}\r\n0\r\n`, 'x-a: b\r\n'),
  'chunks of one byte': bytes(`${rawHead(200, chunked)}${[...RESPONSE].map((letter) => `1\r\n${letter}\r\n`).join('')}0\r\n\r\n`),
  'gzip that was not asked for': bytes(Buffer.concat([Buffer.from(head({ 'content-encoding': 'gzip' })), gzipSync(RESPONSE)])),
  'a second answer behind the first': kept(rawResponse(200, RESPONSE) + rawResponse(200, '{"smuggled":true}')),
  'sixteen interim answers': bytes(CONTINUE.repeat(16) + rawResponse(200, RESPONSE)),
  'interim answers without end': endless('', CONTINUE),
  'hints without end': endless('', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'),
  '101 to another protocol': kept('HTTP/1.1 101 Switching Protocols\r\nupgrade: other\r\nconnection: upgrade\r\n\r\n'),
  'a page of HTML': bytes(rawResponse(200, '<html>log in</html>', { 'content-type': 'text/html' })),
  'JSON that is no object': bytes(rawResponse(200, '[1]')),
  'no JSON': bytes(rawResponse(200, '{"id":')),
  'JSON with a lone surrogate': bytes(rawResponse(200, '{"id":"\\ud800","status":"completed","output":[{"type":"message","content":[]}]}')),
  'bytes that are no UTF-8': bytes(Buffer.concat([Buffer.from(head({})), Buffer.from([0x7b, 0xff, 0xfe, 0x7d])])),
  'JSON nested without end': bytes(rawResponse(200, `{"output":${'['.repeat(50_000)}${']'.repeat(50_000)}}`)),
  'a refusal nested without end': bytes(rawResponse(400, `{"error":{"message":"no","x":${'['.repeat(50_000)}${']'.repeat(50_000)}}}`)),
  'a refusal of 5 MB': bytes(rawResponse(400, `{"error":{"message":"${'a'.repeat(5_000_000)}"}}`)),
  'JSON without end': endless(head({}), 'x'),
  'a JSON list without end': endless(`${head({})}{"output":[`, '{"type":"message","content":[]},'),
  'a stream without a byte': bytes(rawHead(200, EVENTS)),
  'a stream that falls silent': kept(rawHead(200, EVENTS)),
  'a stream of one event, and silence': kept(rawHead(200, EVENTS) + DELTA),
  'a whole stream, and silence': kept(rawHead(200, EVENTS) + STREAM),
  'a stream of NUL': endless(rawHead(200, EVENTS), '\0'),
  'comments without end': endless(rawHead(200, EVENTS), ': a\n'),
  'empty lines without end': endless(rawHead(200, EVENTS), '\n'),
  'empty events without end': endless(rawHead(200, EVENTS), 'data:\n\n'),
  'a line without end': endless(`${rawHead(200, EVENTS)}data: `, 'x'),
  'data lines without end': endless(rawHead(200, EVENTS), 'data: x\n'),
  'field names without end': endless(rawHead(200, EVENTS), 'x'),
  'lifecycle events without end': endless(rawHead(200, EVENTS), 'data: {"type":"response.in_progress","response":{}}\n\n'),
  'unknown events without end': endless(rawHead(200, EVENTS), 'data: {"type":"tomorrow"}\n\n'),
  'deltas without end': endless(rawHead(200, EVENTS), DELTA),
  'items without end': endless(
    rawHead(200, EVENTS),
    'data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"a","content":[]}}\n\n',
  ),
  'terminal events without end': endless(rawHead(200, EVENTS), `data: {"type":"response.completed","response":${RESPONSE}}\n\n`),
  'rate limits without end': endless(rawHead(200, EVENTS), 'data: {"type":"agent.rate_limits","rate_limits":{}}\n\n'),
  'two ends': bytes(rawHead(200, EVENTS) + STREAM + STREAM),
  'an end that comes first': bytes(`${rawHead(200, EVENTS)}data: {"type":"response.completed","response":${RESPONSE}}\n\n${DELTA}`),
  'a terminal event of 3 MB': bytes(
    `${rawHead(200, EVENTS)}${DELTA}data: {"type":"response.completed","response":{"id":"r","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"${'x'.repeat(3_000_000)}"}]}]}}\n\n`,
  ),
};

export const HOSTILE_ANSWERS: readonly HostileAnswer[] = Object.entries(ALL).map(([name, answer]) => ({ name, answer }));
