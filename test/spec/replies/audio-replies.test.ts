// Transcripts in a text format are passed unchanged and complete, and other types are refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { file, model, NATIVE, PUBLIC, startTaker, transcribe } from '../../support/stages/audio.ts';

for (const path of [NATIVE, PUBLIC]) {
  for (const [type, expected] of [
    ['text/plain; charset=utf-8', 200],
    ['text/vtt', 200],
    ['text/html', 502],
    ['text/event-stream', 502],
  ] as const) {
    test(`[Q3] ${path}: a transcript of the type ${type} is ${expected}`, async () => {
      await using taker = await startTaker((request, response) => {
        request.resume().once('end', () => response.writeHead(200, { 'content-type': type }).end('words'));
      });
      const { status, text } = await transcribe(taker.gate, path, [model, file()]);
      assert.equal(status, expected);
      if (expected === 200) assert.equal(text, 'words');
    });
  }

  test(`${path}: a transcript whose account falls silent is a failure, even where the end of the connection would end the body`, async () => {
    await using taker = await startTaker(
      (request, response) => {
        request.resume().once('end', () => response.socket?.write('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\nhalf of the'));
      },
      (draft) => {
        draft.timeouts.upstream_idle_ms = 50;
      },
    );
    const { status, json } = await transcribe(taker.gate, path, [model, file()]);
    assert.deepEqual([status, json.error.code], [502, 'upstream_error']);
    assert.equal(taker.gate.count('upstream_idle_timeouts'), 1);
  });
}
