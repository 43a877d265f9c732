// `poolgate --help`, and the completion that is made from the same definitions.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { poolgate } from './run.ts';

test('the help has at most 40 lines of 80 columns, and each command in a group', async () => {
  const { code, out } = await poolgate(['--help']);
  assert.equal(code, 0);
  const lines = out.trimEnd().split('\n');
  assert.ok(lines.length <= 40, String(lines.length));
  assert.deepEqual(
    lines.filter((line) => line.length > 80),
    [],
  );
  assert.ok(!lines.includes('Commands:'), 'a command without a group');
});

test('bash completes commands, options and choices by the words before', async () => {
  const { out } = await poolgate(['completion', 'bash']);
  const completed = (...words: readonly string[]): readonly string[] => {
    const script = `${out}\nCOMP_WORDS=(poolgate "$@"); COMP_CWORD=$#; _poolgate; printf '%s\\n' "\${COMPREPLY[@]}"`;
    // Without --norc bash would read the user's file, because it takes the socket at its input for a remote login.
    const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', script, 'bash', ...words], { encoding: 'utf8' });
    assert.equal(stderr, '');
    return stdout.split('\n').filter((line) => line !== '');
  };
  assert.deepEqual(completed('acc'), ['account']);
  assert.deepEqual(completed('account', 'lo'), ['login']);
  assert.deepEqual(completed('account', 'login', 'north', '--pa'), ['--paste']);
  assert.deepEqual(completed('mode', 'set', 'team', 'model-a', 'li'), ['lite']);
  assert.deepEqual(completed('completion', 'f'), ['fish']);
});

test('the completions of zsh and fish have every command with its description', async () => {
  const { out: zsh } = await poolgate(['completion', 'zsh']);
  assert.match(zsh, /^#compdef poolgate\n/);
  assert.match(zsh, /'doctor:what is wrong, and what to do about it'/);
  const { out: fish } = await poolgate(['completion', 'fish']);
  assert.match(fish, /^complete -c poolgate -n '__poolgate_at "poolgate account"' -a login -d '/m);
  assert.match(fish, /^complete -c poolgate -n '__poolgate_at "poolgate account login"' -l paste -d '/m);
  const unknown = await poolgate(['completion', 'tcsh']);
  assert.equal(unknown.code, 2);
});
