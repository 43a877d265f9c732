// Logins from the console in a real browser: with a code and with a link, by keyboard, and with hostile answers of the provider.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { type Draft, startGateway, type TestGateway } from '../support/gateway.ts';
import { browserFor, pressed, violations } from './visits.ts';

/** @param deviceUrl the device_url of the account `north` */
async function started(deviceUrl?: string): Promise<TestGateway> {
  const gate = await startGateway({
    upstream: { accounts: [{ id: 'north', oauth: { client_id: 'client-1' } }, 'south'] },
    config: (draft: Draft) => {
      const { base_url: url } = draft.accounts[0];
      draft.accounts[0].credential = {
        oauth: {
          token_url: `${url}/oauth/token`,
          device_url: deviceUrl ?? `${url}/oauth/device`,
          authorize_url: `${url}/oauth/authorize`,
          client_id: 'client-1',
        },
      };
    },
  });
  gate.upstream.authorizationOf('north').settings = { seconds: 300, intervalSeconds: 1 };
  return gate;
}

test('what needs a login leads to one: a code is shown, counted down and copied, and the page sees that it was confirmed', {
  timeout: 240_000,
}, async (context) => {
  const page = await browserFor(context);
  if (!page) return;
  await using gate = await started();
  await page.open(`${gate.adminUrl}/`);
  await page.sees('Account north must be logged in again');
  await page.tabTo('Log in again');
  await page.press('Enter');
  await page.until(`location.pathname === '/accounts' && location.search === '?id=north&login=north'`);
  await page.sees('Get a code');
  for (const [width, theme] of [
    [1600, 'light'],
    [360, 'dark'],
  ] as const) {
    await page.shape(width, 900, theme);
    assert.deepEqual(await violations(page), [], `the choice at ${width}`);
  }
  await page.tabTo('Get a code');
  await page.press('Enter');
  await page.sees('Valid for');
  const { undecided } = gate.upstream.authorizationOf('north');
  assert.equal(await page.evaluate(`document.querySelector('.user-code pre').innerText`), undecided[0]);
  assert.deepEqual(await violations(page), [], 'the code');
  assert.ok(await page.evaluate(`document.querySelector('dialog').scrollWidth <= document.querySelector('dialog').clientWidth`));
  const links = await page.evaluate(
    `[...document.querySelectorAll('dialog a')].map(({ href, rel, target }) => [new URL(href).pathname, rel, target])`,
  );
  assert.deepEqual(links, Array(2).fill(['/oauth/activate', 'noreferrer noopener', '_blank']));
  const shown = await page.evaluate(`document.querySelector('dialog').innerText`);
  await page.until(`document.querySelector('dialog').innerText !== ${JSON.stringify(shown)}`);
  gate.upstream.authorizationOf('north').decide(undecided[0] ?? '', 'allow');
  await page.sees("Account 'north' is logged in as 'user-of-north'; ");
  assert.ok(!(await page.evaluate('document.documentElement.outerHTML')).includes(undecided[0]), 'the code is gone');
  await page.press('Escape');
  await page.until(`!document.querySelector('dialog') && location.search === '?id=north'`);
  await page.sees('Takes turns.');
  assert.deepEqual(page.errors, []);
});

test('a link is opened, and its callback pasted; a closed dialog ends the login; what cannot be logged in says why', {
  timeout: 240_000,
}, async (context) => {
  const page = await browserFor(context);
  if (!page) return;
  await using gate = await started();
  await page.open(`${gate.adminUrl}/accounts?id=north&login=north`);
  await pressed(page, 'Get a link');
  await page.until(`document.querySelector('[name="callback"]')`);
  assert.deepEqual(await violations(page), []);
  const first: string = await page.evaluate(`document.querySelector('dialog pre').innerText`);
  await page.tabTo('That address');
  await page.type('nothing at all');
  await page.press('Enter');
  await page.sees('that is not a callback: paste');
  await page.press('Escape');
  await page.until(`!document.querySelector('dialog')`);
  await page.tabTo('Log in again');
  await page.press('Enter');
  await pressed(page, 'Get a link');
  await page.until(`document.querySelector('dialog pre') && document.querySelector('dialog pre').innerText !== ${JSON.stringify(first)}`);
  const second: string = await page.evaluate(`document.querySelector('dialog pre').innerText`);
  const { headers } = await fetch(`${second}&decision=allow`, { redirect: 'manual' });
  await page.tabTo('That address');
  await page.type(headers.get('location') ?? '');
  await page.press('Enter');
  await page.sees("Account 'north' is logged in as 'user-of-north'; ");
  await page.open(`${gate.adminUrl}/accounts?id=south&login=south`);
  await page.sees('Set BEARER_SOUTH to a valid secret and start the gateway again');
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(page.errors, []);
});

test('what a provider answers to a login is shown as text, and only addresses of the web become links', {
  timeout: 120_000,
}, async (context) => {
  const page = await browserFor(context);
  if (!page) return;
  await using gate = await started(
    await hostileProvider(context, {
      device_code: 'secret-of-the-device',
      user_code: '<img src=x onerror="globalThis.broken=1">\u202e',
      verification_uri: 'javascript:globalThis.broken=1',
      verification_uri_complete: '"><script>globalThis.broken=1</script>',
      expires_in: 300,
      interval: 60,
    }),
  );
  await page.open(`${gate.adminUrl}/accounts?id=north&login=north`);
  await pressed(page, 'Get a code');
  await page.sees('<img src=x onerror="globalThis.broken=1">');
  await page.sees('javascript:globalThis.broken=1');
  assert.equal(await page.evaluate(`document.querySelectorAll('dialog a, dialog img, dialog script').length`), 0);
  assert.equal(await page.evaluate('globalThis.broken'), undefined);
  assert.ok(!(await page.evaluate('document.documentElement.outerHTML')).includes('secret-of-the-device'));
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(page.errors, []);
});

/** Starts a provider that answers every request with this object. */
async function hostileProvider(context: TestContext, answer: object): Promise<string> {
  const server = createServer((_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer)));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  context.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/device`;
}
