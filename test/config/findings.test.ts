// Findings: every file in findings/ has a second file with its expected messages, lines and columns.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { inspect } from '../../proxy/config/loading/load.ts';
import { formatFinding } from '../../proxy/config/schema/finding.ts';

/** The expected findings of a file: each error with its line and column, each warning. */
const CITED: Readonly<Record<string, string>> = {
  'api-addresses': '[AA2] [AA5]',
  'api-catalog': '[AA7] [AA12]',
  'api-credentials': '[AA4]',
  'api-http-warnings': '[AA5]',
  'api-quirks': '[AA12] [AA14]',
  'api-settings': '[AA1] [AA3] [AA12] [AA13] [AA15]',
  'api-valid': '[AA1] [AA2] [AA3] [AA4] [AA5] [AA13]',
  'api-warnings': '[AA6] [AA12]',
  'serving-modes': '[PL6]',
  'tier-values': '[AA65]',
  tiers: '[AA73] [AA74]',
};

const folder = new URL('./findings/', import.meta.url);
const names = readdirSync(folder)
  .filter((file) => file.endsWith('.yaml'))
  .map((file) => file.replace('.yaml', ''));

const env = {
  DATABASE_URL: 'postgres://poolgate:hunter2@db.example/poolgate',
  SET_VARIABLE: 'secret',
  EMPTY_VARIABLE: '',
  BROKEN_VARIABLE: 'hunter2 hunter2',
};

test('each file of findings that cites a statement is there', () => {
  assert.deepEqual(
    Object.keys(CITED).filter((name) => !names.includes(name)),
    [],
  );
});

for (const name of names) {
  const text = readFileSync(new URL(`${name}.yaml`, folder), 'utf8');
  // The first line of a file states its purpose.
  const title = text.slice(2, text.indexOf('\n'));
  const cited = Object.hasOwn(CITED, name) ? `${CITED[name]} ` : '';

  test(`${cited}${title}`, async () => {
    const expected = readFileSync(new URL(`${name}.txt`, folder), 'utf8');
    const { config, findings } = await inspect(text, { path: fileURLToPath(new URL(`${name}.yaml`, folder)), env });
    const messages = findings.map((finding) => `${formatFinding({ ...finding, file: `${name}.yaml` })}\n`).join('');
    assert.equal(messages, expected);
    const valid = expected.split('\n').every((line) => line === '' || line.includes(': warning: '));
    assert.equal(config !== undefined, valid);
    assert.ok(!messages.includes('hunter2'), 'a message repeats a secret');
  });
}
