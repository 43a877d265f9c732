// Each undocumented behaviour on which undici-internals.ts relies: a test fails if an update changes it.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Dispatcher, Pool } from 'undici';
import { passContinue, releaseRawHeaders } from '../../../../proxy/base/process/internals/undici-internals.ts';
import { listening } from './listening.ts';

describe('releaseRawHeaders', () => {
  test('releases the headers that undici keeps on its controller: they share the memory of the first chunk, and the reply continues', async () => {
    await using upstream = await listening((_request, response) => response.writeHead(200, { 'x-own': 'yes' }).end('body'));
    const pool = new Pool(upstream.url);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let raw: unknown;
    let headers: unknown;
    let controllerAtEnd: Dispatcher.DispatchController | undefined;
    const chunks: Buffer[] = [];
    pool.dispatch(
      { method: 'GET', path: '/' },
      {
        onRequestStart: () => undefined,
        onResponseStart: (controller, _status, given) => {
          raw = controller.rawHeaders;
          headers = given;
          releaseRawHeaders(controller);
        },
        onResponseData: (_controller, chunk) => void chunks.push(chunk),
        onResponseEnd: (controller) => {
          controllerAtEnd = controller;
          resolve();
        },
        onResponseError: (_controller, error) => reject(error),
      },
    );
    await promise;
    await pool.close();
    assert.ok(Array.isArray(raw) && raw.length > 0, 'the controller has raw headers');
    const [name] = raw as readonly unknown[];
    assert.ok(Buffer.isBuffer(name) && name.buffer.byteLength > name.length, 'as slices of what was read');
    assert.equal((headers as Record<string, string>)['x-own'], 'yes');
    assert.equal(Buffer.concat(chunks).toString(), 'body');
    assert.equal(controllerAtEnd?.rawHeaders, null, 'nothing sets them again');
  });
});

describe('passContinue', () => {
  test('undici ends the connection at a 100 that it did not ask for, and afterwards reports it as an interim answer', async () => {
    await using upstream = await listening((_request, response) => {
      response.socket?.write('HTTP/1.1 100 Continue\r\nx-own: yes\r\n\r\n');
      response.end('body');
    });
    for (const passed of [false, true]) {
      const pool = new Pool(upstream.url);
      if (passed) passContinue(pool);
      // There are two requests because the second one uses the connection of the first.
      for (const _ of [1, 2]) {
        const statuses: number[] = [];
        const { promise, resolve } = Promise.withResolvers<unknown>();
        pool.dispatch(
          { method: 'GET', path: '/' },
          {
            onRequestStart: () => undefined,
            onResponseStart: (_controller, status) => void statuses.push(status),
            onResponseData: () => undefined,
            onResponseEnd: () => resolve(undefined),
            onResponseError: (_controller, error) => resolve(error),
          },
        );
        const failed = await promise;
        assert.deepEqual([failed === undefined, statuses], [passed, passed ? [102, 200] : []]);
      }
      await pool.destroy();
    }
  });
});
