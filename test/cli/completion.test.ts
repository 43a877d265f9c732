// The completion of each shell is made from the definitions of the commands, and real shells complete with it if they are installed.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { poolgate } from './run.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

const scripts = new Map<Shell, string>();
let folder: string;
const SHELL_MS = 120_000;

/** Options with which each shell starts without the configuration files of its user. */
const PLAIN: Readonly<Record<Shell, readonly string[]>> = {
  bash: ['--norc', '--noprofile'],
  zsh: ['--no-rcs'],
  fish: ['--no-config'],
};

interface Said {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
}

function said(shell: Shell, script: string, ...more: readonly string[]): Said | undefined {
  // The input of a child is a socket here, and not every shell reads a script from a socket.
  const file = join(folder, `script.${shell}`);
  writeFileSync(file, script);
  const { status, stdout, stderr, error } = spawnSync(shell, [...PLAIN[shell], ...more, file], {
    encoding: 'utf8',
    timeout: SHELL_MS,
    env: { PATH: process.env.PATH, HOME: '/nonexistent', TERM: 'dumb' },
  });
  if (error && 'code' in error && error.code === 'ENOENT') return undefined;
  return { status, out: stdout, err: stderr };
}

/** The words that each shell offers for a command line whose last word is being typed. */
const OFFERS: Readonly<Record<Shell, (line: string) => string>> = {
  bash: (line) => {
    const words = line.split(' ');
    return `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _poolgate; printf '%s\\n' "\${COMPREPLY[@]}"\n`;
  },
  // The functions of its completion system print their arguments, because a terminal would draw a menu.
  zsh: (line) => {
    const words = line.split(' ');
    return `_files() { :; }; _describe() { print -rl -- "\${(@P)2}"; }; words=(${words.map((word) => `'${word}'`).join(' ')}); CURRENT=${words.length}; _poolgate\n`;
  },
  fish: (line) => `complete -C '${line}'\n`,
};

const BEFORE: Readonly<Record<Shell, string>> = { bash: '', zsh: 'compdef() { :; }\n', fish: '' };

function offered(context: TestContext, shell: Shell, line: string): readonly string[] | undefined {
  const ran = said(shell, `${BEFORE[shell]}${scripts.get(shell)}\n${OFFERS[shell](line)}`);
  if (!ran) return void context.skip(`no ${shell} here`);
  assert.deepEqual([ran.status, ran.err], [0, '']);
  return ran.out.split('\n').map((one) => one.split(/[\t:]/)[0] ?? '');
}

suite('completion', () => {
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'poolgate-completion-'));
    for (const shell of SHELLS) scripts.set(shell, (await poolgate(['completion', shell])).out);
  });

  after(() => rmSync(folder, { recursive: true }));

  for (const shell of SHELLS) {
    test(`${shell} accepts the script`, (context) => {
      const ran = said(shell, scripts.get(shell) ?? '', '-n');
      if (!ran) return context.skip(`no ${shell} here`);
      assert.deepEqual([ran.status, ran.out, ran.err], [0, '', '']);
    });

    for (const [line, expected, other] of [
      ['poolgate ', ['serve', 'account', 'doctor', 'completion'], 'create'],
      ['poolgate account ', ['add', 'import', 'login', 'test'], 'serve'],
      ['poolgate key ', ['create', 'rotate', 'revoke'], 'add'],
      ['poolgate account login --', ['--device', '--paste', '--config'], '--preset'],
      ['poolgate completion ', ['bash', 'zsh', 'fish'], 'serve'],
      // An argument is not a command.
      ['poolgate account test north --', ['--tools', '--no-turn'], '--preset'],
    ] as const) {
      test(`${shell} completes \`${line}\``, (context) => {
        const words = offered(context, shell, line);
        if (!words) return;
        for (const word of expected) assert.ok(words.includes(word), `${word} in ${words.join(' ')}`);
        assert.ok(!words.includes(other), `${other} is not offered`);
      });
    }
  }

  test('every command and option is in the script of each shell', async () => {
    const { out } = await poolgate(['--help']);
    const commands = [...out.matchAll(/^ {2}([a-z]+) {2,}/gm)].map(([, name = '']) => name);
    assert.ok(commands.length > 15);
    for (const [shell, script] of scripts)
      for (const name of commands) assert.match(script, new RegExp(`\\b${name}\\b`), `${shell}: ${name}`);
  });
});
