// `explain --turn ID`: why a logged turn went where it went, from the running gateway.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { fileWith } from '../config/files.ts';
import { startGateway } from '../support/gateway.ts';
import { poolgate } from './run.ts';

test('a turn that failed over says why each account was asked, and what it said', async (context) => {
  await using gate = await startGateway();
  gate.upstream.next('north', 'refuse 503');
  const reply = await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hello' } });
  const id = reply.headers.get('x-request-id') ?? '';
  const port = Number(new URL(gate.adminUrl).port);
  const file = fileWith(context, stringify({ admin: { port }, accounts: [], pools: [], keys: [] }));
  const { code, out, err } = await poolgate(['explain', '--turn', id, '--config', file]);
  assert.equal(code, 0, err);
  assert.match(out, new RegExp(`^${id}\n`));
  assert.match(out, / {2}answer {3}completed, 200\n/);
  assert.match(out, / {2}account {2}SOUTH\n {2}why {6}\w+\n {2}others {3}1 tried\n/);
  assert.match(out, / {4}NORTH {2}as first: status 503, upstream_status, \d+ ms\n {4}SOUTH {2}as \w+: status 200, \d+ ms\n/);

  const asJson = JSON.parse((await poolgate(['explain', '--turn', id, '--json', '--config', file])).out);
  assert.deepEqual([asJson.turn.id, asJson.attempts.length], [id, 2]);

  const unknown = await poolgate(['explain', '--turn', 'req_nobody', '--config', file]);
  assert.deepEqual([unknown.code, unknown.err], [1, "the request log has no turn 'req_nobody'\n"]);
  assert.equal((await poolgate(['explain', '--config', file])).code, 2);
});
