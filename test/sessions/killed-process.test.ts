// The process is killed just after a client has its response: the next process knows where it can be continued.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { bearerOf, sendTo } from '../support/gateway.ts';
import { startProgram } from '../support/program.ts';
import { turnBody } from '../support/rehearsal-replies.ts';

const NATIVE = '/backend-api/agent/responses';
const RESPONSE_ID = /"id":"(resp_[^"]+)"/;
/** The time within which a pin is on disk, and some more for a busy machine; it was 1.1 s. */
const STORED_MS = 400;

test('[Q10] the anchors that clients have received survive a kill', async () => {
  await using program = await startProgram({
    upstream: { accounts: ['north', 'south'].map((id) => ({ id, credential: bearerOf(id) })), strict: false },
  });
  const ids: string[] = [];
  for (let round = 0; round < 5; round++) {
    const replies = await Promise.all(Array.from({ length: 4 }, () => sendTo(program.url, NATIVE, { body: turnBody('hi') })));
    for (const { text } of replies) ids.push(RESPONSE_ID.exec(text)?.[1] ?? assert.fail(text));
  }
  await sleep(STORED_MS);
  program.signal('SIGKILL');
  await program.run();
  for (const previous_response_id of ids) {
    const reply = await sendTo(program.url, NATIVE, { body: { ...turnBody('more'), previous_response_id } });
    assert.equal(reply.status, 200, reply.text);
  }
});
