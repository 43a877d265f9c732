// `token`: creating operators and their tokens.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { ALONE, configOf, fileWith } from '../../config/files.ts';
import { poolgate } from '../run.ts';

test('token create adds an operator, then more tokens for it', async (context) => {
  const path = fileWith(context, ALONE);
  const first = await poolgate(['token', 'create', 'ops', '--owns', 'team', '--config', path]);
  assert.match(first.out, /^pg-mcp-[\w-]{43}\n$/);
  const second = await poolgate(['token', 'create', 'ops', '--config', path]);
  const hashes = [first, second].map(({ out }) => hash('sha256', out.trim(), 'hex'));
  assert.deepEqual((await configOf(path)).operators, [{ id: 'ops', token_sha256: hashes, owns: ['team'], assigned: [], admin: false }]);
  assert.equal((await poolgate(['token', 'create', 'eve', '--config', path])).code, 2);
});
