// The provider's endpoints other than turns, its wire words, models and quota.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { PROFILES } from '../../proxy/rehearsal/account/account-profiles.ts';
import { neutralWords } from '../../proxy/rehearsal/shared-exchanges.ts';
import { ManualClock } from '../support/clocks/manual-clock.ts';
import { startUpstream } from '../support/rehearsal.ts';
import { ask, at, get, typesOf } from '../support/rehearsal-client.ts';
import { modelEntry, turnBody } from '../support/rehearsal-replies.ts';

const exhausted = PROFILES.exhausted;
const chatty = PROFILES.chatty;
const clock = new ManualClock();
const upstream = await startUpstream({
  clock,
  accounts: [
    'north',
    'south',
    { id: 'spent', profile: exhausted },
    { id: 'chatty', profile: chatty },
    {
      id: 'own',
      models: [modelEntry({ slug: 'mine', context_window: 1000 })],
      quota: { primary: { used_percent: 12.5, window_minutes: 300, reset_at: 7 }, secondary: null },
    },
  ],
});
after(() => upstream.close());
const models = '/backend-api/agent/models?client_version=0.0.0';

test('every catalog entry has the members that native clients need', async () => {
  const { status, json } = await get(upstream.urlOf('north'), `${models}?client_version=1`);
  assert.equal(status, 200);
  const entry = at(json, 'models', 0) as Record<string, unknown>;
  const integers = ['priority', 'context_window', 'max_context_window', 'effective_context_window_percent', 'auto_compact_token_limit'];
  for (const name of integers) assert.ok(Number.isInteger(entry[name]), name);
  const strings = ['slug', 'display_name', 'shell_type', 'visibility', 'base_instructions', 'default_reasoning_level'];
  for (const name of strings) assert.equal(typeof entry[name], 'string', name);
  for (const name of ['supported_in_api', 'support_verbosity', 'use_responses_lite']) assert.equal(typeof entry[name], 'boolean', name);
  for (const name of ['supported_reasoning_levels', 'experimental_supported_tools']) assert.ok(Array.isArray(entry[name]), name);
  assert.equal(typeof entry.truncation_policy, 'object');
});

test('equal catalogs have equal ETags; turns repeat the ETag, and If-None-Match gets 304', async () => {
  const [north, south, own] = await Promise.all(['north', 'south', 'own'].map((id) => get(upstream.urlOf(id), models)));
  const etag = north?.headers.get('etag') ?? '';
  assert.match(etag, /^W\/"[0-9a-f]+"$/);
  assert.equal(south?.headers.get('etag'), etag);
  assert.notEqual(own?.headers.get('etag'), etag);
  assert.equal((await ask(upstream.urlOf('north'))).headers.get('x-models-etag'), etag);
  assert.equal((await get(upstream.urlOf('north'), models, { 'if-none-match': etag })).status, 304);
});

test('an account with its own catalog refuses other models', async () => {
  const own = upstream.urlOf('own');
  assert.equal((await ask(own, turnBody('', { model: 'mine' }))).status, 200);
  assert.equal((await ask(own)).status, 400);
});

test('[RB25] the usage read has integers only, reports an exhausted quota, and names the owner', async () => {
  const { json } = await get(upstream.urlOf('own'), '/backend-api/meter/usage');
  assert.deepEqual(at(json, 'rate_limit', 'primary_window'), {
    used_percent: 13,
    limit_window_seconds: 18_000,
    reset_after_seconds: 0,
    reset_at: 7,
  });
  assert.equal(at(json, 'rate_limit', 'secondary_window'), null);
  assert.equal(at(json, 'additional_rate_limits', 0, 'rate_limit', 'allowed'), false);
  assert.deepEqual([at(json, 'credits', 'balance'), typeof at(json, 'email')], ['0', 'string']);
  const spent = await get(upstream.urlOf('spent'), '/backend-api/meter/usage');
  assert.equal(at(spent.json, 'rate_limit', 'allowed'), false);
  assert.equal(at(spent.json, 'rate_limit', 'limit_reached'), true);
  const reset = Number(at(spent.json, 'rate_limit', 'primary_window', 'reset_at'));
  assert.equal(at(spent.json, 'rate_limit', 'primary_window', 'reset_after_seconds'), reset - clock.now() / 1000);
});

test('[RB24] quota headers repeat the quota of the account, and what a real backend states beside it', async () => {
  const { headers } = await ask(upstream.urlOf('own'), turnBody('', { model: 'mine' }));
  assert.equal(headers.get('x-agent-primary-used-percent'), '12.5');
  assert.equal(headers.get('x-agent-primary-reset-at'), '7');
  const second = ['used-percent', 'window-minutes', 'reset-at', 'reset-after-seconds'].map((name) =>
    headers.get(`x-agent-secondary-${name}`),
  );
  assert.deepEqual(second, ['0', '0', '', '0'], 'an absent window');
  assert.deepEqual(
    ['plan-type', 'credits-balance', 'preview-limit-name', 'preview-primary-used-percent'].map((name) => headers.get(`x-agent-${name}`)),
    ['plus', '0', 'Rehearsal-Preview', '100'],
  );
});

test('a chatty account sends comments, quota and metadata before the turn', async () => {
  const { text, events } = await ask(upstream.urlOf('chatty'));
  assert.ok(text.startsWith(': '));
  const types = typesOf(events);
  assert.deepEqual(types.slice(0, 5), [
    'keepalive',
    'agent.rate_limits',
    'agent.response.metadata',
    'response.metadata',
    'response.created',
  ]);
  assert.equal(events[4]?.sequence_number, 0);
  assert.equal(typeof at(events[1], 'rate_limits', 'primary', 'used_percent'), 'number');
});

test('an unknown path is 404', async () => {
  for (const path of ['/', '/backend-api/agent/responses', '/v1/responses', `/${models}`]) {
    const { status, json } = await get(upstream.urlOf('north'), path);
    assert.deepEqual([status, at(json, 'error', 'code')], [404, 'not_found'], path);
  }
});

test('other wire words change paths, headers and events', async () => {
  await using other = await startUpstream({
    wire: { agent: 'codex', meter: 'wham', lite_marker: 'x-lite', client_version: '0.0.0' },
    accounts: [{ id: 'north', profile: chatty }],
  });
  const url = other.urlOf('north');
  const { headers, events } = await ask(url, turnBody('hello'), {}, '/backend-api/codex/responses');
  assert.ok(headers.get('x-codex-turn-state'));
  assert.ok(headers.get('x-codex-primary-used-percent'));
  assert.equal(events[1]?.type, 'codex.rate_limits');
  assert.equal((await get(url, '/backend-api/wham/usage')).status, 200);
  assert.equal((await get(url, models)).status, 404);
  const full = await ask(url, turnBody('hello'), { 'x-lite': 'true' }, '/backend-api/codex/responses');
  assert.equal(full.status, 400);
  const metadata = { client_metadata: { ws_request_header_x_lite: 'true' } };
  assert.equal((await ask(url, turnBody('hello', metadata), {}, '/backend-api/codex/responses')).status, 400);
  assert.equal(neutralWords.agent, 'agent');
});
