// The packed package in an empty folder: from `init` to an answered turn.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { until } from '../support/until.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('the tarball in an empty folder goes from init to an answered turn', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'poolgate-packed-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const npm = (...args: readonly string[]): string =>
    execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  npm('pack', '--ignore-scripts', '--silent', '--pack-destination', folder);
  const [tarball = ''] = readdirSync(folder);
  // As npm lays it out: the package, and the packages of the lockfile beside it. Linked, because compiling sqlite3 takes a minute.
  const installed = join(folder, 'node_modules', 'poolgate');
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['xzf', join(folder, tarball), '--strip-components=1', '-C', installed]);
  const { dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  for (const name of Object.keys(dependencies)) {
    const place = join(folder, 'node_modules', name);
    mkdirSync(dirname(place), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), place);
  }
  const work = join(folder, 'work');
  mkdirSync(work);
  const command = [join(installed, 'scripts', 'poolgate.mjs')];
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
});
