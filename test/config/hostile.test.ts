// Malformed and hostile files get findings in bounded time, and no finding quotes a secret.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { inspect } from '../../proxy/config/loading/load.ts';

const findingsOf = async (text: string) => {
  const { config, findings } = await inspect(text, { path: 'config.yaml', env: {} });
  assert.ok(config || findings.length > 0);
  for (const { line, column, message } of findings) {
    assert.ok(line >= 1 && column >= 1);
    assert.ok(!message.includes('hunter2'), message);
  }
  return findings;
};

test('very deep nesting is a finding, not a stack overflow', async () => {
  for (const text of ['['.repeat(20_000), '{a: '.repeat(10_000), `accounts: ${'- '.repeat(5000)}`, `a:\n${' b:\n'.repeat(5000)}`])
    await findingsOf(text);
});

test('nested aliases are not expanded', async () => {
  const levels = Array.from({ length: 30 }, (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i}, `.repeat(9)}]`);
  const findings = await findingsOf(`a0: &a0 [x]\n${levels.join('\n')}\n`);
  assert.match(findings[0]?.message ?? '', /aliases are not supported/);
});

test('a randomly damaged file gets findings or a configuration', async () => {
  const shipped = readFileSync(new URL('../../config.yaml', import.meta.url), 'utf8').slice(0, 9000);
  const scraps = [
    '{',
    '}',
    '[',
    ']',
    ':',
    '- ',
    '\n',
    '"',
    "'",
    '*a',
    '&a ',
    '!!x ',
    '<<: ',
    '__proto__: {a: 1}',
    '? ',
    '|',
    '#',
    '\t',
    '.inf',
    'sk-hunter2hunter2hunter2',
    '\0',
  ];
  // The sequence is fixed, so the files are the same in every run.
  let state = 11;
  const below = (limit: number) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % limit;
  };
  for (let i = 0; i < 150; i++) {
    const at = below(shipped.length);
    await findingsOf(shipped.slice(0, at) + scraps[below(scraps.length)] + shipped.slice(at + below(8)));
  }
});
