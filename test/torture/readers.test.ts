// Tests of the readers that attacks use: the strict readers of requests and answers, and the reader of a server's frames.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readAnswers } from './client/answers.ts';
import { frameBytes, readServerFrames } from './client/frames.ts';
import { readStrictly } from './corpus/strict-requests.ts';

const HEAD = 'POST /a HTTP/1.1\r\nhost: b\r\n';
const WHOLE = `${HEAD}content-length: 2\r\n\r\n{}`;

describe('the strict reader of requests', () => {
  for (const [what, text, requests, end] of [
    ['one request', WHOLE, 1, 'whole'],
    ['two requests', WHOLE + WHOLE, 2, 'whole'],
    ['chunks with extensions and trailers', `${HEAD}transfer-encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\nx-a: b\r\n\r\n`, 1, 'whole'],
    ['half a body', WHOLE.slice(0, -1), 0, 'more'],
    ['half a head', HEAD, 0, 'more'],
    ['what the last request of a connection is followed by', `${HEAD}connection: close\r\n\r\n${WHOLE}`, 1, 'closed'],
    ['what an upgrade is followed by', `${HEAD}upgrade: h2c\r\n\r\n${WHOLE}`, 1, 'closed'],
    ['two lengths', `${HEAD}content-length: 2\r\ncontent-length: 2\r\n\r\n{}`, 0, 'refused'],
    ['a length and chunks', `${HEAD}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}`, 0, 'refused'],
    ['a folded header', `${HEAD}x-a: b\r\n c\r\n\r\n`, 0, 'refused'],
    ['lines that end in LF', WHOLE.replaceAll('\r\n', '\n'), 0, 'more'],
    ['no Host', 'GET /a HTTP/1.1\r\nx-a: b\r\n\r\n', 0, 'refused'],
    ['a body on GET', WHOLE.replace('POST', 'GET'), 0, 'refused'],
    ['another version', WHOLE.replace('HTTP/1.1', 'HTTP/2.0'), 0, 'refused'],
  ] as const) {
    test(`reads ${what} as ${requests}, ${end}`, () => {
      const reading = readStrictly(Buffer.from(text));
      assert.deepEqual([reading.requests.length, reading.end], [requests, end]);
    });
  }
});

describe('the strict reader of answers', () => {
  for (const [what, text, whole, fault] of [
    ['an answer with a length', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}', 1, undefined],
    [
      'an answer in chunks behind an interim one',
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
      1,
      undefined,
    ],
    ['one that breaks off', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel', 0, undefined],
    ['a length twice', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\n{}', 0, 'content-length twice'],
    ['two framings', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}', 0, 'two framings'],
    ['none', 'HTTP/1.1 200 OK\r\n\r\n{}', 0, 'a body without a length'],
    ['a chunk without its end', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}xx', 0, 'a chunk without its end'],
  ] as const) {
    test(`reads ${what}`, () => {
      const read = readAnswers(Buffer.from(text));
      assert.deepEqual([read.answers.filter(({ isWhole }) => isWhole).length, read.fault], [whole, fault]);
    });
  }

  test('keeps bytes that belong to no answer', () => {
    const { answers, rest } = readAnswers(Buffer.from('HTTP/1.1 204 No Content\r\n\r\nsurplus'));
    assert.deepEqual([answers.length, rest.toString()], [1, 'surplus']);
  });
});

test('the reader of a server’s frames splits them, and refuses masked ones', () => {
  const frame = (first: number, mask: null | undefined) =>
    frameBytes({ first, payload: Buffer.alloc(300, 'a'), ...(mask === null ? { mask } : {}) });
  const { frames, fault } = readServerFrames(Buffer.concat([frame(0x81, null), frame(0x8a, null).subarray(0, 20)]));
  assert.deepEqual([frames.map(({ opcode, payload }) => [opcode, payload.length]), fault], [[[1, 300]], undefined]);
  assert.match(readServerFrames(frame(0x81, undefined)).fault ?? '', /masked/);
  assert.match(readServerFrames(frame(0xc1, null)).fault ?? '', /begins with c1/);
});
