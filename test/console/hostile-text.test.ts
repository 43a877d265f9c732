// Hostile text on every page: markup, scripts, long words and characters that change the text direction, in each text that people or
// providers choose.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attemptRow, requestRow } from '../store/samples.ts';
import { type Draft, startGateway } from '../support/gateway.ts';
import { modelEntry, turnBody } from '../support/rehearsal-replies.ts';
import { browserFor } from './visits.ts';

const MARKUP = '<img src=x onerror="globalThis.broken=1"><script>globalThis.broken=1</script><b>bold</b>&lt;';
const TURNED = 'left\u202eright\u2066\u0007';
const LONG = 'w'.repeat(300);
/** A label and a line of the greatest allowed length. */
const LABEL = `<script>globalThis.broken=1</script><b>bold</b>left\u202eright\u2066`;
const HOSTILE = `${MARKUP} ${TURNED} ${LONG}`;

/** A row all of whose texts are hostile; a provider, a client or a file could have chosen each of them. */
const row = requestRow({
  id: `req_${MARKUP}`,
  at: Date.now(),
  endpoint: `/v1/${HOSTILE}`,
  status: 503,
  status_class: '5xx',
  pool: 'team',
  pool_label: HOSTILE,
  account: HOSTILE,
  adapted: HOSTILE,
  key_id: HOSTILE,
  model: HOSTILE,
  requested_model: HOSTILE,
  code: HOSTILE,
  effort: HOSTILE,
  error_class: HOSTILE,
  upstream_error_param: HOSTILE,
  why: { reason: HOSTILE, others: { [HOSTILE]: 1 } },
  outcome: 'failed',
  client_address: HOSTILE,
});

const attempt = attemptRow({
  request_id: row.id,
  at: row.at,
  account: HOSTILE,
  adapted: HOSTILE,
  cause: HOSTILE,
  error_class: HOSTILE,
  upstream_error_param: HOSTILE,
});

const audit = {
  at: Date.now(),
  actor: HOSTILE,
  action: 'account.change',
  target: HOSTILE,
  pool: null,
  fields: [{ path: HOSTILE, from: HOSTILE, to: null }],
};

/** The pages that show texts of people and providers. */
const SHOWS_MARKUP = ['/accounts', '/models', '/requests', '/audit'];

test('on every page hostile text is text: no element is made of it, no script runs, nothing turns, and nothing is wider than the page', {
  timeout: 240_000,
}, async (context) => {
  const page = await browserFor(context);
  if (!page) return;
  const slug = `<b>bold</b><script>globalThis.broken=1</script>${'x'.repeat(140)}`;
  await using gate = await startGateway({
    upstream: { accounts: [{ id: 'north', models: [modelEntry({ slug: 'model-a' }), modelEntry({ slug })] }, 'south'] },
    config: (draft: Draft) => {
      draft.accounts[0].label = LABEL;
      draft.pools[0].label = LABEL;
      draft.keys[0].models = ['model-a', slug];
    },
  });
  gate.upstream.next('north', 'refuse 503');
  await gate.send('/backend-api/agent/responses', { body: turnBody('hello') });
  await gate.leave({ requests: [row], attempts: [attempt], audit: [audit] });
  await page.open(`${gate.adminUrl}/`);
  await page.sees('Live');
  const pages: readonly string[] = await page.evaluate(`[...document.querySelectorAll('nav a')].map(({ pathname }) => pathname)`);
  assert.ok(pages.length >= 6 && SHOWS_MARKUP.every((path) => pages.includes(path)), pages.join());
  for (const path of [...pages, `/requests?turn=${encodeURIComponent(row.id)}`]) {
    for (const width of [1600, 360]) {
      await page.shape(width, 900);
      await page.open(gate.adminUrl + path);
      await page.until(`document.querySelector('h1') && document.querySelector('table, .empty, .lead > code')`);
      if (path.includes('turn=')) await page.until(`document.querySelector('dialog .timeline')`);
      const shown = SHOWS_MARKUP.some((one) => path.startsWith(one));
      if (shown) await page.sees('<script>globalThis.broken=1</script>');
      assert.equal(await page.evaluate('globalThis.broken'), undefined, path);
      const made = `document.querySelectorAll('body img, body b, body script:not([src])').length`;
      assert.equal(await page.evaluate(made), 0, `${path}: no element of the text`);
      const turning = String.raw`/[\u0007\u202a-\u202e\u2066-\u2069]/.test(document.body.innerText)`;
      assert.equal(await page.evaluate(turning), false, `${path}: nothing turns the direction`);
      if (shown && path !== '/models') await page.sees('left⟨U+202E⟩right⟨U+2066⟩');
      assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${path} fits into ${width}`);
      const fits = `[...document.querySelectorAll('dialog')].every(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)`;
      assert.ok(await page.evaluate(fits), `the dialog of ${path} fits into ${width}`);
    }
  }
  assert.deepEqual(page.errors, []);
});
