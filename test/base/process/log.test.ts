// If nothing reads the log, the memory of the lines that wait is bounded.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { logOutput } from '../../../proxy/base/process/log.ts';

test('lines for a reader that stalls are lost beyond 16 MiB, and their number is logged when it reads again', () => {
  const waiting: string[] = [];
  const stream = {
    write: (text: string) => void waiting.push(text),
    get writableLength() {
      return waiting.reduce((bytes, { length }) => bytes + length, 0);
    },
  };
  const write = logOutput(stream);
  const line = `${'x'.repeat(1_048_575)}\n`;
  for (let n = 0; n < 30; n++) write(line);
  assert.equal(waiting.length, 17);
  waiting.length = 0;
  write('next\n');
  write('last\n');
  const [lost = '', ...others] = waiting;
  const { at: _, ...fields } = JSON.parse(lost);
  assert.deepEqual(fields, { level: 'warn', event: 'log_lines_lost', lines: 13 });
  assert.deepEqual(others, ['next\n', 'last\n']);
});
