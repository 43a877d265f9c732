// Web pages that attack the admin listener in a real browser: from another site, from another port of this host, in a frame, and under
// another name.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { startGateway } from '../support/gateway.ts';
import { tokenOf } from '../support/mcp.ts';
import { startProgram } from '../support/program/program.ts';
import type { BrowserPage } from './browser-page.ts';
import { signIn, startWithSignIn } from './sign-ins.ts';
import { browserFor } from './visits.ts';

/** Starts a server of pages that load and send what a test wants; @returns its port on each name of this host */
async function attacker(context: TestContext): Promise<number> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>attacker</title><iframe name="sink"></iframe>');
  }).listen(0, '127.0.0.1');
  context.after(() => {
    server.close();
    server.closeAllConnections();
  });
  await new Promise((resolve) => server.once('listening', resolve));
  return (server.address() as AddressInfo).port;
}

/** The result of each kind of write; the browser sends all of them, with its cookies. */
const writes = (url: string): string => `(async () => {
  const url = ${JSON.stringify(url)};
  const results = {};
  const form = (path, enctype, fields) => new Promise((resolve) => {
    const form = Object.assign(document.createElement('form'), { method: 'post', action: url + path, enctype, target: 'sink' });
    for (const [name, value] of Object.entries(fields)) form.append(Object.assign(document.createElement('input'), { name, value }));
    document.body.append(form);
    document.querySelector('iframe').addEventListener('load', () => resolve('sent'), { once: true });
    form.submit();
  });
  const tried = (path, init) => fetch(url + path, { credentials: 'include', ...init }).then((reply) => reply.type === 'opaque' ? 'opaque' : 'read', () => 'refused');
  results.form = await form('/api/accounts/north/pause', 'application/x-www-form-urlencoded', {});
  results.text = await form('/api/reload', 'text/plain', { '{"a":"': '"}' });
  results.parts = await form('/api/accounts/north/restore', 'multipart/form-data', { a: 'b' });
  results.simple = await tried('/api/accounts/north/pause', { method: 'POST', mode: 'no-cors', body: '{}' });
  results.header = await tried('/api/accounts/north/pause', { method: 'POST', headers: { 'x-poolgate-command': '1' } });
  results.json = await tried('/api/accounts/north/pause', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
  results.deleted = await tried('/api/session', { method: 'DELETE' });
  results.beacon = navigator.sendBeacon(url + '/api/reload', new Blob(['{}'], { type: 'text/plain' }));
  await tried('/healthz', { mode: 'no-cors' });
  return results;
})()`;

/** What another page can read of an answer, by each way that a browser offers. */
const reads = (url: string): string => `(async () => {
  const url = ${JSON.stringify(url)};
  const results = {};
  const element = (tag, attributes) => new Promise((resolve) => {
    const one = document.createElement(tag);
    one.onload = () => resolve('loaded');
    one.onerror = () => resolve('refused');
    Object.assign(one, attributes);
    document.body.append(one);
  });
  results.fetch = await fetch(url + '/api/status', { credentials: 'include' }).then(() => 'read', () => 'refused');
  results.opaque = await fetch(url + '/api/status', { mode: 'no-cors', credentials: 'include' }).then(() => 'loaded', () => 'refused');
  results.page = await fetch(url + '/', { mode: 'no-cors' }).then(() => 'loaded', () => 'refused');
  results.script = await element('script', { src: url + '/api/status' });
  results.image = await element('img', { src: url + '/api/session' });
  results.style = await element('link', { rel: 'stylesheet', href: url + '/api/session' });
  results.events = await new Promise((resolve) => {
    const source = new EventSource(url + '/api/events', { withCredentials: true });
    source.onopen = () => resolve('open');
    source.onerror = () => { source.close(); resolve('refused'); };
  });
  await element('iframe', { src: url + '/' });
  return results;
})()`;

const WAYS = ['fetch', 'opaque', 'page', 'script', 'image', 'style', 'events'];
const REFUSED_READS = Object.fromEntries(WAYS.map((way) => [way, 'refused']));

async function assertUnread(page: BrowserPage, url: string): Promise<void> {
  assert.deepEqual(await page.evaluate(reads(url)), REFUSED_READS);
  // The browser shows its own page instead of a frame that is refused.
  const frames = JSON.stringify(await page.send('Page.getFrameTree'));
  assert.ok(frames.includes(`"unreachableUrl":"${url}/"`) && !frames.includes(`"url":"${url}`), frames);
}

const isPaused = async (url: string, headers: Record<string, string> = {}): Promise<boolean> => {
  const reply = (await (await fetch(`${url}/api/accounts?id=north`, { headers })).json()) as { accounts: { state: string }[] };
  return reply.accounts[0]?.state === 'paused';
};

test('pages of another site and of another port neither write nor read', { timeout: 180_000 }, async (context) => {
  const page = await browserFor(context);
  if (!page) return;
  const port = await attacker(context);
  await using program = await startProgram({ here: true });
  const url = `http://127.0.0.1:${program.draft.admin.port}`;
  const reloads = program.lines('config_reloaded').length;
  for (const origin of [`http://localhost:${port}`, `http://127.0.0.1:${port}`]) {
    await page.open(`${origin}/`);
    const results = await page.evaluate(writes(url));
    assert.deepEqual([results.header, results.json, results.deleted], ['refused', 'refused', 'refused'], origin);
    assert.equal(await isPaused(url), false, origin);
    await assertUnread(page, url);
  }
  assert.equal(program.lines('config_reloaded').length, reloads);
  const { audit } = (await (await fetch(`${url}/api/audit`)).json()) as { audit: { action: string }[] };
  assert.deepEqual(
    audit.filter(({ action }) => action.startsWith('account.')),
    [],
    'nothing was done to an account',
  );
});

test('with a session in the browser they do not either, though a page of another port sends its cookie', {
  timeout: 180_000,
}, async (context) => {
  const page = await browserFor(context);
  if (!page) return;
  const port = await attacker(context);
  await using gate = await startWithSignIn();
  await page.open(`${gate.adminUrl}/`);
  await signIn(page, 'ops');
  const reads = gate.count('config_reloads');
  for (const origin of [`http://localhost:${port}`, `http://127.0.0.1:${port}`]) {
    await page.open(`${origin}/`);
    const results = await page.evaluate(writes(gate.adminUrl));
    assert.deepEqual([results.header, results.json, results.deleted], ['refused', 'refused', 'refused'], origin);
    await assertUnread(page, gate.adminUrl);
  }
  assert.equal(await isPaused(gate.adminUrl, { authorization: `Bearer ${tokenOf('ops')}` }), false);
  assert.equal(gate.count('config_reloads'), reads);
  await page.open(`${gate.adminUrl}/`);
  await page.sees('Live');
  assert.equal(await page.evaluate('document.cookie'), '', 'no script reads the session');
  // The cookie belongs to one name, so another name of this host has no session.
  await page.open(`http://localhost:${new URL(gate.adminUrl).port}/`);
  await page.sees('Sign in to poolgate');
});

test('a name that an attacker binds to loopback is served nothing', { timeout: 120_000 }, async (context) => {
  const page = await browserFor(context);
  if (!page) return;
  await using gate = await startGateway();
  const { port } = new URL(gate.adminUrl);
  // Browsers resolve every name below localhost to loopback, like a name that was rebound.
  for (const path of ['/', '/api/status', '/api/events', '/console/main.js', '/healthz']) {
    await page.send('Page.navigate', { url: `http://attacker.localhost:${port}${path}` });
    await page.sees('this host is not served');
  }
  // The refusal has a policy of its own, which would stop the scripts of a rebound page.
  await page.send('Page.setBypassCSP', { enabled: true });
  await page.send('Page.reload');
  await page.sees('this host is not served');
  const fetched = await page.evaluate(`fetch('/api/status').then(async (reply) => [reply.status, await reply.text()])`);
  assert.deepEqual(fetched, [403, '{"error":"this host is not served"}\n'], 'of the same origin, as the browser sees it');
  const written = await page.evaluate(
    `fetch('/api/accounts/north/restore', { method: 'POST', headers: { 'x-poolgate-command': '1' } }).then(({ status }) => status)`,
  );
  assert.equal(written, 403);
});
