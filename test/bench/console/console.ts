// `npm run bench -- console`: fills the store of a large installation, starts a gateway on it, and measures each answer that a page loads.
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { nodeFlags } from '../../../scripts/node-flags.mjs';
import { SqliteConnection } from '../../../store/sqlite/sqlite-connection.ts';
import { Child } from '../children.ts';
import { median } from '../figures/statistics.ts';
import { asked, timed } from './answers.ts';
import { writeLargeConfig } from './large-config.ts';
import { fillStore, LARGE } from './large-store.ts';
import { firstPaint, pagesOf } from './pages.ts';

const MAIN = fileURLToPath(new URL('../../../proxy/main.ts', import.meta.url));
const TIMES = 5;
const BOUND_MS = 300;
const START_MS = 300_000;

/**
 * @param kept a folder where the store is, or is to be made; by default a folder that is removed afterwards
 * @returns whether each answer came in time
 */
export async function consoleAnswers(kept: string | undefined, say: (line: string) => void): Promise<boolean> {
  const folder = kept ?? mkdtempSync(join(tmpdir(), 'poolgate-console-'));
  if (kept === undefined) process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(folder, { recursive: true });
  const database = join(folder, 'large.db');
  if (!existsSync(database)) await fillStore(database, LARGE, Date.now(), say);
  const id = await idIn(database);
  const file = writeLargeConfig(folder, database, LARGE);
  const command = [process.execPath, ...nodeFlags(process.versions.node), MAIN, 'serve', '--config', file];
  const gateway = new Child(command, { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, BENCH_BEARER: 'bench' } });
  const [, url = ''] = await gateway.line(/^console (http:\S+)$/, START_MS);
  await settled(url);
  say(`the gateway serves ${url}`);
  let inTime = true;
  for (const path of asked(Date.now(), id)) {
    const { p50, max, bytes, status } = await timed(url, path, TIMES);
    inTime &&= max <= BOUND_MS && status === 200;
    const columns = [
      `${p50.toFixed(0)} ms`.padStart(9),
      `${max.toFixed(0)} ms`.padStart(9),
      `${(bytes / 1_024).toFixed(1)} KB`.padStart(10),
    ];
    console.log(`${columns.join(' ')} ${status} ${shortened(path)}${max > BOUND_MS ? '   LATE' : ''}`);
  }
  const paints = await paintsOf(`${url}/`);
  console.log(`first paint: ${paints.map((ms) => `${ms.toFixed(0)} ms`).join(', ')}`);
  await gateway.stop();
  return inTime && median(paints) <= BOUND_MS;
}

/** Waits until the model lists of all accounts have been read. */
async function settled(url: string): Promise<void> {
  for (const end = performance.now() + START_MS; performance.now() < end; await sleep(500)) {
    const { accounts } = (await (await fetch(`${url}/api/overview`)).json()) as { readonly accounts: Readonly<Record<string, number>> };
    if (accounts.available === LARGE.accounts) return;
  }
  throw new Error('the accounts did not become available');
}

/** Measures with an empty browser cache, and without the start of the browser. */
async function paintsOf(url: string): Promise<readonly number[]> {
  const { pages, close } = await pagesOf(1);
  try {
    const [page] = pages;
    const paints: number[] = [];
    for (let i = 0; page && i <= TIMES; i++) paints.push(await firstPaint(page, url));
    return paints.slice(1);
  } finally {
    await close();
  }
}

const WIDTH = 100;

const shortened = (path: string): string => (path.length > WIDTH ? `${path.slice(0, WIDTH)} …` : path);

async function idIn(database: string): Promise<string> {
  const connection = await SqliteConnection.openReadOnly(database, 'shared');
  const [row] = await connection.query('SELECT id FROM requests WHERE status = 503 ORDER BY at LIMIT 1', []);
  await connection.close();
  return String(row?.id);
}
