// `npm run screenshots` makes the pictures of the README from the shipped configuration and its simulated accounts, in both themes.
import { hash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';
import { nodeFlags } from '../../scripts/node-flags.mjs';
import { Child } from '../bench/children.ts';
import { openPages } from '../console/browser.ts';
import type { BrowserPage } from '../console/browser-page.ts';
import { withPalette } from './palette.ts';
import { writePast } from './past.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const IMAGES = join(ROOT, 'docs/images');
const KEY = 'pg-demo-key-for-the-rehearsal-only';
const SIZE = [1280, 1000] as const;

/** The shipped file with further simulated accounts, prices and limits, so a page shows something of each. */
function configIn(folder: string): string {
  // biome-ignore lint/suspicious/noExplicitAny: a draft of a file
  const draft: any = parse(readFileSync(join(ROOT, 'config.yaml'), 'utf8'));
  draft.listen.port = 0;
  draft.admin.port = 0;
  draft.accounts.push({ id: 'west', label: 'West', base_url: 'rehearsal:', keep_fields: ['metadata'] });
  draft.accounts.push({ id: 'platform', label: 'Platform', api: 'responses', base_url: 'rehearsal:responses' });
  const [pool] = draft.pools;
  pool.assignments.push({ account: 'west' }, { account: 'platform', tier: 1 });
  pool.models = Object.fromEntries(['model-a', 'model-b'].map((id) => [id, { prices: { input: 1.25, cached_input: 0.125, output: 10 } }]));
  draft.keys[0].limits = { requests_per_day: 2_000, tokens_per_week: 200_000_000, concurrent: 8 };
  const key = (id: string, limits: object) => ({ id, pool: 'team', secret_sha256: [hash('sha256', id, 'hex')], limits });
  draft.keys.push(key('ci', { requests_per_day: 400, usd_per_day: 20 }), key('nightly', { usd_per_week: 100 }));
  const file = join(folder, 'config.yaml');
  writeFileSync(file, stringify(draft));
  return file;
}

async function turn(url: string, input: string): Promise<void> {
  const response = await fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'model-a', input }),
  });
  await response.arrayBuffer();
}

async function isSpent(admin: string): Promise<boolean> {
  const { accounts } = (await (await fetch(`${admin}/api/accounts?id=west`)).json()) as { accounts: { state: string }[] };
  return accounts[0]?.state === 'out_of_quota';
}

/** Sends turns of the present: answered ones, one that moves to another account, an exhausted quota, a refused request. */
async function present(url: string, admin: string): Promise<void> {
  // Only a turn that goes to this account can use up its quota.
  while (!(await isSpent(admin))) await turn(url, 'rehearse: west: refuse 429 usage_limit_reached resets 8100');
  for (let i = 0; i < 24; i++) await turn(url, i % 8 === 3 ? 'rehearse: north: refuse 503' : 'Say hello.');
  await fetch(`${url}/v1/nothing`, { headers: { authorization: `Bearer ${KEY}` } });
}

/** The newest turn that two accounts got. */
async function failover(admin: string): Promise<string> {
  const { rows } = (await (await fetch(`${admin}/api/requests?limit=100`)).json()) as { rows: { id: string; retries: number }[] };
  return rows.find(({ retries }) => retries > 0)?.id ?? rows[0]?.id ?? '';
}

async function shoot(page: BrowserPage, admin: string): Promise<void> {
  const pictures = [
    { name: 'overview', path: '/', ready: `document.querySelector('.chart canvas') && document.querySelector('table')` },
    { name: 'turn', path: `/requests?turn=${await failover(admin)}`, ready: `document.querySelector('dialog .timeline')` },
  ];
  for (const theme of ['light', 'dark'] as const) {
    for (const { name, path, ready } of pictures) {
      await page.shape(...SIZE, theme);
      await page.send('Emulation.setScrollbarsHidden', { hidden: true });
      await page.open(admin + path);
      await page.sees('Live');
      await page.until(ready);
      // Fonts and bars are drawn in the next frames.
      await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
      const file = join(IMAGES, `console-${name}-${theme}.png`);
      writeFileSync(file, withPalette(await page.screenshot()));
      console.log(`${file}: ${Math.round(statSync(file).size / 1_024)} KB`);
    }
  }
}

const folder = mkdtempSync(join(tmpdir(), 'poolgate-screenshots-'));
mkdirSync(IMAGES, { recursive: true });
const ends: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
try {
  const past = { accounts: ['North', 'West', 'South', 'Platform'], keys: ['demo', 'ci', 'nightly'], models: ['model-a', 'model-b'] };
  await writePast(`sqlite:${join(folder, 'data/poolgate.db')}`, Date.now(), past);
  const command = [
    process.execPath,
    ...nodeFlags(process.versions.node),
    join(ROOT, 'proxy/main.ts'),
    'serve',
    '--config',
    configIn(folder),
  ];
  const gateway = new Child(command);
  ends.push(() => gateway.stop());
  const [, url = ''] = await gateway.line(/^poolgate serves (http:[^,\s]+)/);
  const [, admin = ''] = await gateway.line(/^console (http:\S+)$/);
  await present(url, admin);
  const pages = await openPages({ after: (end?: unknown) => void (typeof end === 'function' && ends.push(end as () => unknown)) }, 1);
  if (!pages?.[0]) throw new Error('the browser lacks libraries: apt-get install libnss3');
  await shoot(pages[0], admin);
} finally {
  for (const end of ends.toReversed()) await end();
}
process.exit(0);
