// Findings: every file in findings/ has a file with its expected messages, with line and column.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { inspect } from '../../proxy/config/loading/load.ts';
import { formatFinding } from '../../proxy/config/schema/finding.ts';

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

for (const name of names) {
  const text = readFileSync(new URL(`${name}.yaml`, folder), 'utf8');
  // The first line of a file states its purpose.
  const title = text.slice(2, text.indexOf('\n'));
  const clause = name === 'serving-modes' ? '[PL6] ' : '';

  test(`${clause}${title}`, async () => {
    const expected = readFileSync(new URL(`${name}.txt`, folder), 'utf8');
    const { config, findings } = await inspect(text, { path: fileURLToPath(new URL(`${name}.yaml`, folder)), env });
    const messages = findings.map((finding) => `${formatFinding({ ...finding, file: `${name}.yaml` })}\n`).join('');
    assert.equal(messages, expected);
    const valid = expected.split('\n').every((line) => line === '' || line.includes(': warning: '));
    assert.equal(config !== undefined, valid);
    assert.ok(!messages.includes('hunter2'), 'a message repeats a secret');
  });
}
