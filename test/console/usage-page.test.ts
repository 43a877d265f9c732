// The page of key holders over HTTP, and in a real browser with a key.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { describe, test } from 'node:test';
import DEFAULT_ROUTES from '../../proxy/config/schema/default-routes.json' with { type: 'json' };
import { type Draft, KEY, startGateway, type TestGateway } from '../support/gateway.ts';
import { turnBody } from '../support/rehearsal-replies.ts';
import { browserFor, filled, pressed, violations } from './visits.ts';

/** Starts a gateway whose operator has set the rows of the page to supported. */
const withPage = (edit: (draft: Draft) => void = () => undefined): Promise<TestGateway> =>
  startGateway({
    config: (draft) => {
      draft.routes = DEFAULT_ROUTES.map((row) => (row.serve === 'usage-page' ? { ...row, status: 'supported' } : row));
      edit(draft);
    },
  });

/** Requests a path without a key. */
const visit = (gate: TestGateway, path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(gate.url + path, { headers });

describe('[D5] the page of key holders', () => {
  test('is shipped as unsupported: 401 without a key, 404 with one', async () => {
    await using gate = await startGateway();
    for (const path of ['/usage', '/usage/main.js']) {
      assert.equal((await visit(gate, path)).status, 401);
      const { status, json } = await gate.send(path);
      assert.deepEqual([status, json.error.code], [404, 'unsupported_endpoint']);
    }
  });

  test('where its rows are supported: a page without a key, one inline script by its hash, files that are kept for good', async () => {
    await using gate = await withPage((draft) => {
      draft.wire = { agent: 'codex' };
    });
    const response = await visit(gate, '/usage');
    const html = await response.text();
    assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'text/html; charset=utf-8']);
    assert.deepEqual([response.headers.get('cache-control'), response.headers.get('x-frame-options')], ['no-store', 'DENY']);
    const policy = response.headers.get('content-security-policy') ?? '';
    const [, map = ''] = /<script type="importmap">(.*?)<\/script>/s.exec(html) ?? [];
    assert.ok(policy.startsWith(`default-src 'none'; script-src 'self' 'sha256-${hash('sha256', map, 'base64')}'; style-src 'self'`));
    assert.ok(!policy.includes('unsafe'));
    assert.ok(html.includes('/backend-api/codex'), 'the texts of clients have the word of wire');
    const files = new Set([...html.matchAll(/"(\/usage\/[^"]+\.[0-9a-f]{12}\.(?:js|css))"/g)].map(([, path = '']) => path));
    assert.ok(files.size > 5);
    let bytes = Buffer.byteLength(html);
    for (const path of files) {
      const file = await visit(gate, path, { 'accept-encoding': 'br' });
      assert.deepEqual(
        [file.status, file.headers.get('content-encoding'), file.headers.get('cache-control')],
        [200, 'br', 'public, max-age=31536000, immutable'],
        path,
      );
      bytes += Number(file.headers.get('content-length'));
      assert.equal(hash('sha256', await file.text(), 'hex').slice(0, 12), /\.([0-9a-f]{12})\.\w+$/.exec(path)?.[1]);
    }
    assert.ok(bytes <= 80 * 1024, `${bytes} bytes`);
    assert.equal((await visit(gate, '/usage/main.js')).status, 404, 'a name without its hash');
    assert.equal((await visit(gate, '/usage/..%2fconfig.yaml')).status, 404);
    const rows = (await gate.rows()).filter(({ endpoint }) => endpoint === '/usage');
    assert.deepEqual(
      rows.map(({ status, key_id }) => [status, key_id]),
      [[200, null]],
    );
  });

  test('GET /v1/usage has the days where it is asked for them, and refuses other words', async () => {
    await using gate = await startGateway();
    await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hello' } });
    const plain = await gate.send('/v1/usage');
    assert.equal(plain.json.days, undefined);
    const { json } = await gate.send('/v1/usage?by=day');
    const { days, ...rest } = json;
    assert.deepEqual(rest, plain.json);
    assert.equal(days.length, 1);
    const { day, ...sums } = days[0];
    assert.match(day, /^\d{4}-\d\d-\d\d$/);
    assert.deepEqual(sums, Object.fromEntries(Object.keys(sums).map((name) => [name, plain.json[name]])));
    const refused = await gate.send('/v1/usage?by=hour');
    assert.deepEqual([refused.status, refused.json.error.code, refused.json.error.param], [400, 'invalid_request', 'by']);
  });

  test('asks for the key, shows its use by bars and days and the settings of clients, and forgets it', {
    timeout: 120_000,
  }, async (context) => {
    const page = await browserFor(context);
    if (!page) return;
    await using gate = await withPage((draft) => {
      draft.keys[0].limits = { requests_per_day: 10, concurrent: 4 };
    });
    await gate.send('/backend-api/agent/responses', { body: turnBody('hello') });
    await page.open(`${gate.url}/usage`);
    await page.sees('Usage of your key');
    assert.deepEqual(await violations(page), []);
    await page.open(`${gate.url}/usage`);
    await page.until(`document.activeElement?.id === 'key'`);
    await page.type('wrong');
    await page.press('Enter');
    await page.sees('The gateway has no such key.');
    await page.evaluate(`document.querySelector('#key').value = ''; document.querySelector('#key').focus()`);
    await page.type(KEY);
    await page.press('Enter');
    await page.sees('1 of 10 requests per day');
    await page.sees('0 of 4 turns at a time');
    assert.match(
      await page.evaluate(`document.querySelector('.day-bars').getAttribute('aria-label')`),
      /^Requests by day, .*: at most 1, on /,
    );
    await filled(page, '.filters select', 'total_tokens');
    await page.until(`/^Tokens by day/.test(document.querySelector('.day-bars').getAttribute('aria-label'))`);
    await page.sees(`${gate.url}/backend-api/agent`);
    await page.evaluate(
      `(() => { const at = [...document.querySelectorAll('select')].find(({ value }) => value === 'codex'); at.value = 'claude-code'; at.dispatchEvent(new Event('change', { bubbles: true })); })()`,
    );
    await page.sees(`export ANTHROPIC_BASE_URL=${gate.url}`);
    await page.sees('export ANTHROPIC_MODEL=model-a');
    for (const [width, theme] of [
      [1600, 'dark'],
      [360, 'light'],
    ] as const) {
      await page.shape(width, 900, theme);
      assert.deepEqual(await violations(page), [], `${width} ${theme}`);
      assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `it fits into ${width}`);
    }
    await gate.send('/backend-api/agent/responses', { body: turnBody('hello') });
    await pressed(page, 'Refresh');
    await page.sees('2 of 10 requests per day');
    // The page refreshes by itself when its content is a minute old, and not earlier.
    const isSeen = `document.dispatchEvent(new Event('visibilitychange'))`;
    await gate.send('/backend-api/agent/responses', { body: turnBody('hello') });
    await page.evaluate(isSeen);
    await page.evaluate(`(() => { const now = Date.now; Date.now = () => now() + 60_000; ${isSeen}; })()`);
    await page.sees('3 of 10 requests per day');
    const asked = (await gate.rows()).filter(({ endpoint }) => endpoint === '/v1/usage');
    assert.equal(asked.filter(({ status }) => status === 200).length, 3, 'at first, by hand, by itself');
    assert.ok(!(await page.evaluate('document.documentElement.outerHTML')).includes(KEY), 'the key is not in the page');
    assert.equal(await page.evaluate('location.href'), `${gate.url}/usage`);
    assert.equal(await page.evaluate(`document.cookie + Object.keys(localStorage).length + Object.keys(sessionStorage).length`), '00');
    await pressed(page, 'Forget the key');
    await page.until(`document.querySelector('#key')?.value === ''`);
    assert.ok(!(await page.evaluate('document.body.innerText')).includes('per day'));
    assert.deepEqual(page.errors, []);
    assert.ok(!JSON.stringify(await gate.rows()).includes(KEY));
  });
});
