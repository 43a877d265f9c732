// A restart with an overlap: a second gateway starts on the store of the first, then the first one drains and ends. No continuation is
// lost.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { idOf, outputOf, Stage, user } from '../support/stages/continuity.ts';

/** Starts a stage, and a second gateway with the same configuration before any turn. */
async function overlap(context: TestContext, options: Parameters<typeof Stage.set>[0] = {}) {
  const stage = await Stage.set(options);
  const first = stage.gate;
  const next = await first.twin({ clock: stage.clock });
  context.after(() => stage.strike());
  context.after(() => Promise.all([next.stop(), first.stop()]));
  return { stage, first, next };
}

test('[Q10] a response that the first gateway made is continued at the second one, which started before', async (context) => {
  const { stage, first, next } = await overlap(context, { strict: false });
  const id = idOf(await stage.atSouth());
  await first.stop();
  stage.gate = next;
  const reply = await stage.turn({ body: { previous_response_id: id } });
  assert.equal(reply.status, 200, reply.text);
  assert.deepEqual(stage.went(), ['south']);
  const unknown = await stage.turn({ body: { previous_response_id: 'resp_never_seen' } });
  assert.equal(unknown.json.error.code, 'previous_response_not_found');
});

test('[Q10] a response of a gateway that drains is found by the other one during the drain', async (context) => {
  const { stage, first, next } = await overlap(context, { strict: false });
  const id = idOf(await stage.atSouth());
  await first.drainPins();
  stage.gate = next;
  assert.equal((await stage.turn({ body: { previous_response_id: id } })).status, 200);
  assert.deepEqual(stage.went(), ['south']);
});

test('[Q10] a session stays at its account', async (context) => {
  const { stage, first, next } = await overlap(context);
  const headers = { 'session-id': 'overlapping' };
  await stage.atSouth({ headers });
  await first.stop();
  stage.gate = next;
  await stage.turn({ headers });
  assert.deepEqual(stage.went(), ['south']);
});

test('[Q10] ciphertext goes back to its maker, which only the first gateway saw', async (context) => {
  const { stage, first, next } = await overlap(context);
  const made = outputOf(await stage.atSouth());
  await first.stop();
  stage.gate = next;
  // A new session has no soft pin, so its first account refuses the ciphertext.
  const reply = await stage.turn({ headers: { 'session-id': 'new' }, body: { input: [user('hello'), ...made, user('more')] } });
  assert.equal(reply.status, 200, reply.text);
  assert.deepEqual(stage.went(), ['north', 'south']);
  const row = await stage.lastRow();
  assert.deepEqual([row.retries, row.why?.reason, row.account], [1, 'ciphertext', 'SOUTH']);
});

test('[Q10] a turn without a session goes to the maker of its ciphertext, which only the first gateway saw', async (context) => {
  const { stage, first, next } = await overlap(context);
  const made = outputOf(await stage.atSouth());
  await first.stop();
  stage.gate = next;
  const reply = await stage.turn({ body: { input: [user('hello'), ...made, user('more')] } });
  assert.deepEqual([reply.status, stage.went(), (await stage.lastRow()).why?.reason], [200, ['south'], 'soft_pin']);
});

test('[Q34] a cooldown that the first gateway opens keeps turns of the second one away, as soon as it polls', async (context) => {
  const { stage, first, next } = await overlap(context);
  stage.gate.upstream.next('north', 'refuse 429 rate_limit_exceeded retry 3600');
  await stage.turn();
  assert.deepEqual(stage.went(), ['north', 'south']);
  await first.flush();
  await next.poll();
  stage.gate = next;
  await stage.turn();
  assert.deepEqual(stage.went(), ['south']);
});
