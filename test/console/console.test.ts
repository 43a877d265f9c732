// The console over HTTP: what is served, who may use it, how large it is, and the feed of changes.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { startGateway } from '../support/gateway.ts';
import { tokenOf } from '../support/mcp.ts';
import { turnBody } from '../support/rehearsal-replies.ts';
import { eventsFrom, type FeedEvent } from './events.ts';
import { startWithSignIn } from './sign-ins.ts';

const filesOf = (html: string): readonly string[] => [
  ...new Set([...html.matchAll(/"(\/console\/[^"]+\.[0-9a-f]{12}\.(?:js|css))"/g)].map(([, path = '']) => path)),
];

test('the page has one inline script, which its policy admits by hash, and files whose names have their hash', async () => {
  await using gate = await startGateway();
  for (const path of ['/', '/accounts', '/requests?status=5xx']) {
    const response = await fetch(gate.adminUrl + path);
    assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'text/html; charset=utf-8']);
    const html = await response.text();
    const [inline, ...others] = [...html.matchAll(/<script(?![^>]*src)[^>]*>(.*?)<\/script>/gs)];
    assert.deepEqual(others, []);
    const policy = response.headers.get('content-security-policy') ?? '';
    assert.match(policy, /^default-src 'none'; script-src 'self' 'sha256-[\w+/=]+'; style-src 'self'; connect-src 'self';/);
    assert.ok(policy.includes(`'sha256-${hash('sha256', inline?.[1] ?? '', 'base64')}'`));
    assert.ok(!policy.includes('unsafe'));
    for (const [, address = ''] of html.matchAll(/(?:src|href)="([^"]+)"/g)) assert.match(address, /^(\/console\/|data:,$)/);
    for (const file of filesOf(html)) {
      const one = await fetch(gate.adminUrl + file);
      assert.equal(one.status, 200, file);
      assert.equal(one.headers.get('cache-control'), 'public, max-age=31536000, immutable');
      const [, digest] = /\.([0-9a-f]{12})\.\w+$/.exec(file) ?? [];
      assert.equal(hash('sha256', await one.text(), 'hex').slice(0, 12), digest);
    }
  }
  assert.equal((await fetch(`${gate.adminUrl}/console/main.js`)).status, 404, 'a name without its hash');
  assert.equal((await fetch(`${gate.adminUrl}/console/../config.yaml`)).status, 404);
});

test('the whole console takes at most 80 KB over the wire', async () => {
  await using gate = await startGateway();
  const page = await fetch(`${gate.adminUrl}/`, { headers: { 'accept-encoding': 'br' } });
  assert.equal(page.headers.get('content-encoding'), 'br');
  const html = await page.text();
  let bytes = Number(page.headers.get('content-length'));
  for (const file of filesOf(html)) {
    const response = await fetch(gate.adminUrl + file, { headers: { 'accept-encoding': 'br' } });
    assert.equal(response.headers.get('content-encoding'), 'br');
    bytes += Number(response.headers.get('content-length'));
  }
  assert.ok(bytes <= 80 * 1024, `${bytes} bytes`);
});

test('admin.console: false serves no page, and the API goes on', async () => {
  await using gate = await startGateway({
    config: (draft) => {
      draft.admin.console = false;
    },
  });
  assert.equal((await fetch(`${gate.adminUrl}/`)).status, 404);
  assert.equal((await fetch(`${gate.adminUrl}/api/session`)).status, 200);
});

test('the feed names what changed, and after a restart what changed since the last event', async () => {
  await using gate = await startGateway();
  const events = eventsFrom(gate);
  const first = (await events.next()).value as FeedEvent;
  assert.deepEqual(first.topics, [], 'nothing has changed since the page was opened');
  await gate.send('/backend-api/agent/responses', { body: turnBody('hello') });
  const seen = new Set<string>();
  let { id } = first;
  while (!seen.has('requests')) {
    const { value } = (await events.next()) as { value: FeedEvent };
    for (const topic of value.topics) seen.add(topic);
    ({ id } = value);
  }
  await events.return(undefined);
  await using other = await startGateway();
  const again = eventsFrom(other, { 'last-event-id': id });
  const { topics } = (await again.next()).value as FeedEvent;
  assert.ok(topics.includes('requests') && topics.includes('configuration'), 'of another process');
  await again.return(undefined);
});

test('the feed ends with the sign-in', async () => {
  await using gate = await startWithSignIn();
  assert.equal((await fetch(`${gate.adminUrl}/api/events`)).status, 401);
  const events = eventsFrom(gate, { authorization: `Bearer ${tokenOf('ops')}` });
  await events.next();
  await gate.reconfigure((draft) => {
    draft.operators[0].token_sha256 = ['ab'.repeat(32)];
  });
  for await (const _ of events);
});
