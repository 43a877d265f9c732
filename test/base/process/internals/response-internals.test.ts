// Each undocumented behaviour on which response-internals.ts relies: a test fails if an update changes it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { describe, test } from 'node:test';
import {
  endConnectionAfter,
  keepsConnection,
  takeOverChunking,
  whenConnected,
} from '../../../../proxy/base/process/internals/response-internals.ts';
import { headOf, RawClient } from '../../../support/network/raw.ts';
import { until } from '../../../support/until.ts';
import { listening } from './listening.ts';

describe('takeOverChunking', () => {
  test('of a length-less HTTP/1.1 answer returns true, and chunks framed by the writer are one valid answer', async () => {
    const taken: unknown[] = [];
    await using server = await listening((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      taken.push(response.chunkedEncoding, takeOverChunking(response), response.chunkedEncoding);
      response.write('6\r\nfirst \r\n');
      response.write('6\r\nsecond\r\n');
      response.end('0\r\n\r\n');
    });
    using client = await RawClient.connect(server.url);
    for (let i = 0; i < 2; i++) {
      client.write(headOf('GET', '/'));
      const { headers, chunks } = await client.answer();
      assert.equal(headers['transfer-encoding'], 'chunked');
      assert.deepEqual(chunks, ['first ', 'second']);
      assert.equal(client.pending, '', 'the connection is ready for the next request');
    }
    assert.deepEqual(taken, [true, true, false, true, true, false]);
  });

  test('of an answer with a length returns false, and its bytes pass as they are', async () => {
    const taken: boolean[] = [];
    await using server = await listening((_request, response) => {
      response.writeHead(200, { 'content-length': 4 });
      taken.push(takeOverChunking(response));
      response.end('body');
    });
    using client = await RawClient.connect(server.url);
    client.write(headOf('GET', '/'));
    const { body, headers } = await client.answer();
    assert.deepEqual([taken, body, headers['transfer-encoding']], [[false], 'body', undefined]);
  });

  test('of an answer to HTTP/1.0 returns false: its body ends with its connection', async () => {
    const taken: boolean[] = [];
    await using server = await listening((_request, response) => {
      response.writeHead(200);
      taken.push(takeOverChunking(response));
      response.end('body');
    });
    using client = await RawClient.connect(server.url);
    client.write('GET / HTTP/1.0\r\n\r\n');
    const answer = await client.ended();
    assert.deepEqual([taken, answer.split('\r\n\r\n')[1]], [[false], 'body']);
  });
});

describe('endConnectionAfter and keepsConnection', () => {
  test('make an answer the last one of its connection, and report that before it is written', async () => {
    const kept: boolean[] = [];
    const server = createServer((_request, response) => {
      kept.push(keepsConnection(response));
      endConnectionAfter(response);
      kept.push(keepsConnection(response));
      response.end('last');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const answer = Buffer.concat(await socket.toArray()).toString('latin1');
    assert.match(answer, /^connection: close\r$/im);
    assert.deepEqual(kept, [true, false]);
    server.close();
  });
});

describe('whenConnected', () => {
  test('an answer that waits for an earlier one has its connection when that one has been written', async () => {
    const responses: ServerResponse[] = [];
    await using upstream = await listening((_request, response) => void responses.push(response));
    using client = await RawClient.connect(upstream.url);
    client.write(headOf('GET', '/first') + headOf('GET', '/second'));
    const [first, second] = await until('two requests', () => (responses.length === 2 ? responses : undefined));
    assert.ok(first && second);
    const order: string[] = [];
    whenConnected(first, (socket) => order.push(`first ${socket === first.req.socket}`));
    whenConnected(second, (socket) => order.push(`second ${socket === second.req.socket}`));
    second.writeHead(200, { 'content-length': 2 }).write('2');
    assert.deepEqual(order, ['first true']);
    first.end('1');
    await client.until(() => client.pending.endsWith('2'), 'what the second has written');
    assert.deepEqual(order, ['first true', 'second true']);
  });
});
