// `record` when its file cannot be written.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { folderFor } from '../../config/files.ts';
import { poolgate } from '../run.ts';

test('a recording that cannot be written is reported before anything is relayed', async (context) => {
  const file = join(folderFor(context), 'file');
  writeFileSync(file, '');
  const out = join(file, 'folder', 'session.json');
  const ran = await poolgate(['record', '--to', 'https://provider.example', '--out', out, '--port', '0']);
  assert.deepEqual(ran, { code: 1, out: '', err: `${out} cannot be written: one of its folders is a file (EEXIST)\n` });
});
