// The packed package, installed by npm into an empty folder, works from `init` to an answered turn.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { until } from '../support/until.ts';

/** Packages come from the cache of npm if it has them. */
const NPM_MS = 600_000;

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('the tarball in an empty folder goes from init to an answered turn', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'poolgate-packed-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const npm = (cwd: string, ...args: readonly string[]): string =>
    execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], timeout: NPM_MS });
  npm(ROOT, 'pack', '--ignore-scripts', '--silent', '--pack-destination', folder);
  const [tarball = ''] = readdirSync(folder);
  const work = join(folder, 'work');
  mkdirSync(work);
  npm(work, 'install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', join(folder, tarball));
  // The installation has one build step, which compiles for minutes and makes this file.
  const addon = join('node_modules', 'sqlite3', 'build', 'Release', 'node_sqlite3.node');
  mkdirSync(dirname(join(work, addon)), { recursive: true });
  cpSync(join(ROOT, addon), join(work, addon));
  const installed = JSON.parse(readFileSync(join(work, 'node_modules', 'poolgate', 'package.json'), 'utf8'));
  const top = readdirSync(join(work, 'node_modules'));
  for (const name of Object.keys(installed.dependencies)) assert.ok(top.includes(name.split('/')[0] ?? ''), name);
  assert.ok(!top.includes('typescript'), 'no package of the tests');
  const command = [realpathSync(join(work, 'node_modules', '.bin', 'poolgate'))];
  const poolgate = (...args: readonly string[]): string =>
    execFileSync(process.execPath, [...command, ...args], { cwd: work, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

  const port = 20_000 + (process.pid % 10_000);
  const said = poolgate('init', '--yes', '--port', String(port));
  const secret = /POOLGATE_KEY=(\S+)/.exec(said)?.[1] ?? '';
  assert.match(poolgate('check', '--strict'), /no findings/);
  const gateway = spawn(process.execPath, [...command, 'serve'], { cwd: work, stdio: ['ignore', 'pipe', 'inherit'] });
  context.after(async () => {
    if (gateway.exitCode !== null) return;
    gateway.kill('SIGTERM');
    await once(gateway, 'exit');
  });
  let out = '';
  gateway.stdout.on('data', (text) => {
    out += text;
  });
  await until('the gateway to serve', () => /poolgate serves/.test(out) || undefined, 60_000);
  const answer = await fetch(`http://127.0.0.1:${port}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'model-a', input: 'Say hello.' }),
  });
  assert.equal(answer.status, 200);
  const { status } = (await answer.json()) as { readonly status: string };
  assert.equal(status, 'completed');
  assert.match(poolgate('account', 'test', 'north'), /account 'north' works\n$/);
  assert.match(poolgate('completion', 'bash'), /_poolgate/);
});
