// The account profiles, and the provider in its worker thread as the gateway starts it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PROFILES } from '../../../proxy/rehearsal/account/account-profiles.ts';
import { startProviderThread } from '../../../proxy/rehearsal/provider-thread.ts';
import { neutralWords } from '../../../proxy/rehearsal/shared-exchanges.ts';
import type { RehearsalProfile } from '../../../proxy/turn/settings.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { startUpstream } from '../../support/rehearsal.ts';
import { ask, at, eventsOf, get, raw } from '../../support/rehearsal-client.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';

const accountOf = (name: RehearsalProfile) => ({ id: name, profile: PROFILES[name] });

test('the flaky account refuses every third turn, in three ways', async () => {
  await using upstream = await startUpstream({ accounts: [accountOf('flaky')] });
  const url = upstream.urlOf('flaky');
  const seen: unknown[] = [];
  for (let turn = 1; turn <= 12; turn += 1) {
    const { status, events } = await ask(url);
    seen.push(status === 200 ? events.at(-1)?.type : status);
  }
  const fine = ['response.completed', 'response.completed'];
  assert.deepEqual(seen, [...fine, 503, ...fine, 429, ...fine, 'response.failed', ...fine, 503]);
});

test('reading models or usage does not count as a turn', async () => {
  await using upstream = await startUpstream({ accounts: [accountOf('broken')] });
  assert.equal((await get(upstream.urlOf('broken'), '/backend-api/agent/models?client_version=0.0.0')).status, 200);
  assert.equal((await get(upstream.urlOf('broken'), '/backend-api/meter/usage')).status, 200);
  assert.equal((await ask(upstream.urlOf('broken'))).status, 500);
});

test('the exhausted account answers 429 and the expired account 401', async () => {
  await using upstream = await startUpstream({ accounts: [accountOf('exhausted'), accountOf('expired')] });
  const { status, json, headers } = await ask(upstream.urlOf('exhausted'));
  assert.deepEqual([status, at(json, 'error', 'type')], [429, 'usage_limit_reached']);
  assert.equal(headers.get('x-agent-primary-used-percent'), '100');
  assert.equal((await ask(upstream.urlOf('expired'))).status, 401);
  assert.equal((await get(upstream.urlOf('expired'), '/backend-api/meter/usage')).status, 401);
});

test('the narrow account lists a small window, and refuses what is larger', async () => {
  await using upstream = await startUpstream({ accounts: [accountOf('narrow')] });
  const url = upstream.urlOf('narrow');
  const list = await get(url, '/backend-api/agent/models?client_version=0.0.0');
  assert.deepEqual([at(list.json, 'models', 0, 'context_window'), at(list.json, 'models', 1, 'context_window')], [40_000, 40_000]);
  assert.equal((await ask(url, turnBody('x'.repeat(100_000)))).events.at(-1)?.type, 'response.completed');
  const refused = (await ask(url, turnBody('x'.repeat(161_000)))).events.at(-1);
  assert.equal(at(refused, 'response', 'error', 'code'), 'context_length_exceeded');
});

test('the slow account waits before its answer and before each event', async () => {
  const clock = new ManualClock();
  await using upstream = await startUpstream({ accounts: [accountOf('slow')], clock });
  let answered = false;
  const answer = ask(upstream.urlOf('slow')).finally(() => {
    answered = true;
  });
  let time = 0;
  while (!answered) {
    await Promise.race([clock.waiting(), answer]);
    await clock.advance(20);
    time += 20;
  }
  assert.equal((await answer).status, 200);
  assert.ok(time > 400 + 40 * 10);
});

test('the fragile account cuts every third turn after visible text', async () => {
  await using upstream = await startUpstream({ accounts: [accountOf('fragile')] });
  const url = upstream.urlOf('fragile');
  await ask(url);
  await ask(url);
  assert.equal(eventsOf((await raw(url)).text).at(-1)?.type, 'response.output_text.delta');
});

test('the unreachable account refuses connections', async () => {
  await using upstream = await startUpstream({ accounts: [accountOf('unreachable')] });
  assert.deepEqual(await raw(upstream.urlOf('unreachable')), { text: '', how: 'reset' });
});

test('a script of a request replaces the faults of the profile', async () => {
  await using upstream = await startUpstream({ accounts: [accountOf('broken')] });
  assert.equal((await ask(upstream.urlOf('broken'), turnBody('', { metadata: { rehearse: 'steady' } }))).status, 200);
});

test('every profile has a description', () => {
  for (const [name, { description }] of Object.entries(PROFILES)) assert.ok(description.length > 10, name);
});

test('in the worker thread, each account has its own address and profile, and ids differ between runs', async () => {
  const accounts = [
    { id: 'north', profile: 'steady' },
    { id: 'south', profile: 'broken' },
  ] as const;
  const idOf = async () => {
    const rehearsal = await startProviderThread({ accounts, wire: neutralWords });
    try {
      assert.equal((await ask(rehearsal.urlOf('south'))).status, 500);
      const { status, events } = await ask(rehearsal.urlOf('north'));
      assert.equal(status, 200);
      return at(events.at(-1), 'response', 'id');
    } finally {
      await rehearsal.close();
    }
  };
  assert.notEqual(await idOf(), await idOf());
});

test('closing the thread ends its connections', async () => {
  const rehearsal = await startProviderThread({ accounts: [{ id: 'north', profile: 'steady' }], wire: neutralWords });
  const url = rehearsal.urlOf('north');
  const stalled = raw(url, turnBody('', { metadata: { rehearse: 'stall after 2 events' } }));
  await ask(url);
  await rehearsal.close();
  await stalled;
  assert.equal((await raw(url)).how, 'reset');
});
