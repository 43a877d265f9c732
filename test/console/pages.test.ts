// The console in a real browser: every page, by keyboard, in both themes and widths, with hostile texts, and through a restart.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { statusFailure } from '../../proxy/turn/errors/failure.ts';
import { failure } from '../accounts/health/support.ts';
import { requestRow } from '../store/samples.ts';
import { type Draft, startGateway, type TestGateway } from '../support/gateway.ts';
import { operatorRow, tokenOf } from '../support/mcp.ts';
import { portOfOurs } from '../support/network/ports.ts';
import { startProgram } from '../support/program/program.ts';
import { modelEntry, turnBody } from '../support/rehearsal-replies.ts';
import { ALL_CASES } from '../support/sample.ts';
import { signIn, startWithSignIn } from './sign-ins.ts';
import { browserFor, filled, pressed, violations } from './visits.ts';

const PAGES = [
  ['/', 'Overview'],
  ['/accounts', 'Accounts'],
  ['/keys', 'Keys'],
  ['/requests', 'Requests'],
  ['/models', 'Models and modes'],
  ['/audit', 'Audit'],
  ['/nodes', 'Nodes'],
  ['/configuration', 'Configuration'],
  ['/operators', 'Operators'],
] as const;

const SHAPES = [
  [1600, 'light'],
  [360, 'dark'],
] as const;

/** Each page in both shapes; on an ordinary day each page in one of them, in rotation. */
const VIEWS = PAGES.flatMap((page, i) =>
  SHAPES.filter((_, j) => ALL_CASES || i % SHAPES.length === j).map((shape) => [...page, ...shape] as const),
);

const turn = (gate: TestGateway) => gate.send('/backend-api/agent/responses', { body: turnBody('hello') });

const HOSTILE = '<img src=x onerror="globalThis.broken=1"><script>globalThis.broken=1</script>\u202e&lt;';

/** Starts a gateway in whose configuration and rows all texts that people or providers choose are hostile. */
const hostileGateway = () =>
  startGateway({
    upstream: {
      accounts: [
        { id: 'north', models: [modelEntry({ slug: 'model-a' }), modelEntry({ slug: `<b>model</b>${'x'.repeat(150)}` })] },
        'south',
      ],
    },
    config: (draft: Draft) => {
      draft.accounts[0].label = HOSTILE;
      draft.pools[0].label = HOSTILE;
      draft.keys[0].limits = { requests_per_day: 5, concurrent: 4 };
    },
  });

test('every page shows what is there, as text, without a violation of its policy or of axe-core, in both themes and widths', {
  timeout: 240_000,
}, async (context) => {
  const page = await browserFor(context);
  if (!page) return;
  await using gate = await hostileGateway();
  gate.upstream.next('north', 'refuse 503');
  await turn(gate);
  await gate.send(`/v1/${encodeURIComponent(HOSTILE)}`, { headers: { 'user-agent': '<script>' } });
  await gate.send('/v1/responses', { body: { model: HOSTILE, input: 'hello' } });
  await gate.leave({
    audit: [
      {
        at: Date.now(),
        actor: HOSTILE,
        action: 'account.change',
        target: 'north',
        pool: null,
        fields: [
          { path: HOSTILE, from: HOSTILE, to: null },
          { path: 'keys[new] (added)', from: null, to: null },
        ],
      },
    ],
  });
  for (const [path, title, width, theme] of VIEWS) {
    await page.shape(width, 900, theme);
    await page.open(gate.adminUrl + path);
    await page.until(
      `document.querySelector('h1')?.innerText === ${JSON.stringify(title)} && document.querySelector('table, .empty, .lead')`,
    );
    assert.deepEqual(await violations(page), [], `${path} at ${width} in ${theme}`);
    assert.equal(await page.evaluate('globalThis.broken'), undefined, path);
    assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${path} fits into ${width}`);
  }
  await page.open(`${gate.adminUrl}/audit`);
  await page.sees('<script>globalThis.broken=1</script>');
  assert.match(
    await page.evaluate(`document.querySelector('table').innerText`),
    /^keys\[new\] \(added\)$/m,
    'without values, as it has none',
  );
  await page.open(`${gate.adminUrl}/accounts`);
  await page.sees('<img src=x onerror=');
  assert.deepEqual(page.errors, []);
});

test('with the keyboard alone: a part, a filter, a turn in its drawer and back', { timeout: 120_000 }, async (context) => {
  const page = await browserFor(context);
  if (!page) return;
  await using gate = await startGateway();
  gate.upstream.next('north', 'refuse 503');
  await turn(gate);
  await gate.send('/v1/nothing');
  await page.open(`${gate.adminUrl}/`);
  await page.sees('2 of 2 accounts are available');
  await page.tabTo('Requests');
  await page.press('Enter');
  await page.sees('unknown_endpoint');
  await page.tabTo('Status');
  await page.type('2xx');
  await page.press('Enter');
  await page.until(`location.search === '?status=2xx' && document.querySelectorAll('tbody tr').length === 1`);
  await page.tabTo(await page.evaluate(`document.querySelector('tbody button').innerText`));
  await page.press('Enter');
  await page.sees('Why this account, and why not each other');
  await page.sees('NORTH\ntried: it failed');
  await page.until(`/First event for the client[^]*End: completed/.test(document.querySelector('.timeline').innerText)`);
  await page.press('Escape');
  await page.until(`!document.querySelector('dialog') && location.search === '?status=2xx'`);
  assert.deepEqual(page.errors, []);
});

test('the page states the time zone of its times', { timeout: 120_000 }, async (context) => {
  const page = await browserFor(context);
  if (!page) return;
  await using gate = await startGateway();
  await page.send('Emulation.setTimezoneOverride', { timezoneId: 'Africa/Lagos' });
  await page.open(`${gate.adminUrl}/`);
  await page.sees('Times are those of this browser (Africa/Lagos, GMT+1)');
});

test('the page follows the gateway, stops where it is paused, and comes back after a restart', { timeout: 120_000 }, async (context) => {
  const page = await browserFor(context);
  if (!page) return;
  const port = await portOfOurs();
  const fixed = (draft: Draft): void => {
    draft.admin.port = port;
  };
  await using first = await startGateway({ config: fixed });
  await page.open(`${first.adminUrl}/`);
  await page.sees('2 of 2 accounts are available');
  await page.evaluate(`document.querySelector('nav [href="/requests"]').click()`);
  await page.sees('No request yet');
  await page.sees('Live');
  await turn(first);
  await page.until(`document.querySelectorAll('tbody tr').length === 1`);
  await page.tabTo('Pause');
  await page.press('Enter');
  await page.sees('Paused');
  await turn(first);
  await page.press('Enter');
  await page.until(`document.querySelectorAll('tbody tr').length === 2`);
  await first.stop();
  await page.sees('Connection lost; trying again');
  await page.evaluate(`document.querySelector('nav [href="/"]').click()`);
  await page.sees('the gateway does not answer');
  await page.until(`document.querySelectorAll('.card').length === 3 && !document.querySelector('main [role=status]')`);
  assert.equal(await page.evaluate(`document.querySelectorAll('.notice').length`), 1, 'said once');
  await page.evaluate(`document.querySelector('nav [href="/keys"]').click()`);
  await page.sees('It is loaded when the gateway answers again.');
  await using second = await startGateway({ config: fixed });
  await page.sees('Live');
  await page.sees('Turns, 7 days');
  await page.evaluate(`document.querySelector('nav [href="/requests"]').click()`);
  await page.sees('No request yet');
  await turn(second);
  await page.until(`document.querySelectorAll('tbody tr').length === 1`);
});

test('an account is restored and tested from the page, and paused and resumed in its file', { timeout: 120_000 }, async (context) => {
  const page = await browserFor(context);
  if (!page) return;
  await using gate = await startGateway();
  gate.fail('north', 'model-a', statusFailure(429, { 'retry-after': '600' }, Buffer.from('{}'), Date.now()));
  await page.open(`${gate.adminUrl}/accounts?id=north`);
  await page.sees('Restore');
  await page.tabTo('Restore');
  await page.press('Enter');
  await page.until(`/Restored|no cooldown/.test(document.body.innerText)`);
  await page.tabTo('Test');
  await page.press('Enter');
  await page.sees('Its credential and its model list work');
  const turns = gate.upstream.turns('north').length;
  await pressed(page, 'Test with a turn');
  await page.sees('Test north with a turn');
  assert.equal(gate.upstream.turns('north').length, turns, 'nothing was sent before the confirmation');
  await pressed(page, 'Send');
  await page.sees('Its credential, its model list and a turn work');
  await using program = await startProgram({ here: true });
  await page.open(`http://127.0.0.1:${program.draft.admin.port}/accounts?id=north`);
  await page.until(`document.querySelector('.actions button')`);
  await page.evaluate(`[...document.querySelectorAll('.actions button')].find(({ innerText }) => innerText === 'Pause').click()`);
  await page.sees('An operator has paused it.');
  assert.match(readFileSync(program.path, 'utf8'), /paused"?: true/);
  await page.evaluate(`[...document.querySelectorAll('.actions button')].find(({ innerText }) => innerText === 'Resume').click()`);
  await page.sees('Takes turns.');
});

test('outside loopback the page asks for a token, shows what is theirs, and forgets it at the sign-out', {
  timeout: 120_000,
}, async (context) => {
  const page = await browserFor(context);
  if (!page) return;
  await using gate = await startWithSignIn((draft) => {
    draft.pools.push({ id: 'lab', assignments: [{ account: 'north' }] });
  });
  await page.open(`${gate.adminUrl}/accounts`);
  await page.sees('Sign in to poolgate');
  assert.deepEqual(await violations(page), []);
  await page.type('wrong');
  await page.press('Enter');
  await page.sees('No operator has this token.');
  await page.evaluate(`document.querySelector('input').value = ''; document.querySelector('input').focus()`);
  await page.type(tokenOf('ops'));
  await page.press('Enter');
  await page.sees('only its owner');
  assert.equal(await page.evaluate('document.cookie'), '', 'no script reads the session');
  assert.equal(await page.evaluate(`Object.keys(localStorage).length + Object.keys(sessionStorage).length`), 0);
  await page.tabTo('Sign out ops');
  await page.press('Enter');
  await page.sees('Sign in to poolgate');
});

test('a page whose sign-in has ended asks for a token again, and a sign-out that fails is reported', {
  timeout: 120_000,
}, async (context) => {
  const page = await browserFor(context);
  if (!page) return;
  await using gate = await startWithSignIn();
  // A field that has the focus only some frames after it can be seen loses what is typed meanwhile.
  await page.send('Page.addScriptToEvaluateOnNewDocument', {
    source: `new MutationObserver(() => { globalThis.focusAtSight ??= document.querySelector('#token')?.matches(':focus'); }).observe(document, { childList: true, subtree: true });`,
  });
  await page.open(`${gate.adminUrl}/requests`);
  await signIn(page, 'ops');
  assert.equal(await page.evaluate('globalThis.focusAtSight'), true);
  await gate.reconfigure((draft) => {
    draft.operators = [operatorRow('night', ['team'])];
  });
  await signIn(page, 'night');
  await gate.stop();
  await pressed(page, 'Sign out night');
  await page.sees('the gateway does not answer');
  await page.sees('Sign out night');
  assert.deepEqual(page.errors, []);
});

test('long names leave times and labels whole, and a list of many accounts is cut', { timeout: 120_000 }, async (context) => {
  const page = await browserFor(context);
  if (!page) return;
  await using gate = await startGateway({ upstream: { accounts: Array.from({ length: 20 }, (_, i) => `north${i}`) } });
  await turn(gate);
  const name = 'long-name-'.repeat(12);
  await gate.leave({ requests: [requestRow({ id: 'req_long', at: Date.now(), pool: 'team', key_id: name, account: name, model: name })] });
  const lines = (selector: string): Promise<number> =>
    page.evaluate(
      `Math.max(...[...document.querySelectorAll('${selector}')].map((at) => { const range = document.createRange(); range.selectNodeContents(at); return range.getClientRects().length; }))`,
    );
  await page.shape(1280, 900);
  await page.open(`${gate.adminUrl}/requests`);
  await page.until(`document.querySelectorAll('tbody tr').length === 2`);
  assert.equal(await lines('tbody .link'), 1, 'of a time');
  await page.shape(360, 900);
  await page.open(`${gate.adminUrl}/requests?turn=req_long`);
  await page.until(`document.querySelector('dialog dt')`);
  assert.equal(await lines('dialog dt'), 1, 'of a label');
  assert.ok(await page.evaluate(`document.querySelector('dialog').scrollWidth <= document.querySelector('dialog').clientWidth`));
  await page.open(`${gate.adminUrl}/models?id=model-a`);
  await page.sees('north11 and 8 others');
  await page.open(`${gate.adminUrl}/accounts?id=north1`);
  await page.until(`document.querySelector('tbody .actions button')`);
  const below = `(() => { const at = document.querySelector('tbody .actions'); return at.getBoundingClientRect().bottom - [...at.querySelectorAll('button')].at(-1).getBoundingClientRect().bottom; })()`;
  assert.ok((await page.evaluate(below)) < 1, 'no gap for a text that is not there');
});

test('what needs an operator has its action; a search by time; accounts a page at a time', { timeout: 120_000 }, async (context) => {
  const page = await browserFor(context);
  if (!page) return;
  const accounts = Array.from({ length: 60 }, (_, i) => `north${i}`);
  await using gate = await startGateway({
    upstream: { accounts },
    config: (draft) => {
      draft.keys.push({ id: 'old', pool: 'team', secret_sha256: ['ab'.repeat(32)], expires_at: '2026-01-01T00:00:00Z' });
    },
  });
  await turn(gate);
  gate.fail('north3', 'model-a', failure('quota', { retryAfterMs: 600_000 }));
  await page.open(`${gate.adminUrl}/`);
  await page.sees('Key old has expired');
  await page.sees('Account north3 is out of quota until');
  assert.doesNotMatch(
    String(await page.evaluate('document.body.innerText')),
    /is out of quota until \d{4}-/,
    'the time is that of the reader',
  );
  await pressed(page, 'Restore');
  await page.until(`!document.body.innerText.includes('Account north3 is out of quota')`);
  await page.until(`document.querySelectorAll('tbody tr').length === 50`);
  await pressed(page, 'Next accounts');
  await page.until(`document.querySelectorAll('tbody tr').length === 10`);
  await page.sees('north59');
  await pressed(page, 'Previous accounts');
  await page.until(`document.querySelectorAll('tbody tr').length === 50`);
  await page.open(`${gate.adminUrl}/requests`);
  await page.until(`document.querySelectorAll('tbody tr').length === 1`);
  await filled(page, 'input[type="datetime-local"]', '2100-01-01T00:00');
  await page.sees('No request matches.');
  assert.match(await page.evaluate('location.search'), /^\?since=41\d{11}$/);
  await pressed(page, 'Show all');
  await page.until(`document.querySelectorAll('tbody tr').length === 1`);
});
