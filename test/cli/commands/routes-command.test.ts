// `routes`, and `explain` of a route.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileWith, SMALL } from '../../config/files.ts';
import { poolgate } from '../run.ts';

test('routes lists every row with its status, whether it is served, family, class, kind and rules', async (context) => {
  const path = fileWith(context, SMALL);
  const { code, out } = await poolgate(['routes', '--config', path]);
  assert.equal(code, 0);
  const [head, ...lines] = out.trimEnd().split('\n');
  assert.deepEqual(head?.split(/\s+/), ['METHOD', 'PATH', 'STATUS', 'SERVED', 'FAMILY', 'CLASS', 'KIND', 'RULES']);
  assert.equal(lines.length, 72);
  assert.match(lines[0] ?? '', /^GET +\/backend-api\/agent\/models +supported +yes +backend-agent +http +catalog +authenticate /);
  assert.ok(lines.some((line) => /^POST +\/v1\/embeddings +unsupported +no +v1 +http +- +authenticate/.test(line)));
});

test('routes --json prints the same rows', async (context) => {
  const { out } = await poolgate(['routes', '--json', '--config', fileWith(context, SMALL)]);
  const row = JSON.parse(out).find(({ method, path }: { method: string; path: string }) => method === 'POST' && path === '/v1/responses');
  assert.deepEqual(
    { ...row, rules: row.rules.includes('authenticate') },
    {
      method: 'POST',
      path: '/v1/responses',
      status: 'translated',
      served: true,
      note: null,
      family: 'v1',
      class: 'stream',
      kind: 'public-responses',
      rules: true,
    },
  );
});

test('explain prints the rules of a route in order, with their phases', async (context) => {
  const { code, out } = await poolgate(['explain', 'post', '/v1/responses?x=1', '--config', fileWith(context, SMALL)]);
  assert.equal(code, 0);
  assert.match(
    out,
    /^POST \/v1\/responses\n {2}status {4}translated\n {2}served {4}yes\n {2}family {4}v1\n {2}kind {6}public-responses; public-compact where the input has a compaction_trigger\n/,
  );
  assert.match(out, / {2}upstream {2}\/backend-api\/agent\/responses\n/);
  assert.match(out, /\n {4}authenticate +admit\n/);
});

test('explain names no path at an account for a route that the gateway answers itself', async (context) => {
  const { out } = await poolgate(['explain', 'GET', '/v1/models', '--config', fileWith(context, SMALL)]);
  assert.match(out, /\n {2}upstream {2}none: no account is asked\n/);
});

test('explain finds a row by path, template, URL, and neutral words under other wire words', async (context) => {
  const path = fileWith(context, `${SMALL}wire: { agent: codex, meter: wham }\n`);
  const explained = async (method: string, of: string) =>
    JSON.parse((await poolgate(['explain', method, of, '--json', '--config', path])).out);
  assert.equal((await explained('GET', '/v1/files/file-1')).template, '/v1/files/{file_id}');
  assert.equal((await explained('GET', '/v1/files/{file_id}')).kind, 'file-read');
  assert.equal((await explained('GET', 'http://127.0.0.1:4000/v1/models')).kind, 'models');
  assert.equal((await explained('POST', '/backend-api/agent/responses')).template, '/backend-api/codex/responses');
  assert.equal((await explained('GET', '/wham/usage')).kind, 'pool-usage');
  assert.equal((await explained('GET', '/v1/responses')).method, 'WS');
});

test('a route has the status of its row, and an unknown status is an error', async (context) => {
  const row = (status: string) => `${SMALL}routes:\n  - { POST: /v1/embeddings, status: ${status}, serve: forward }\n`;
  for (const status of ['supported', 'translated', 'partial', 'unsupported']) {
    const { out } = await poolgate(['explain', 'POST', '/v1/embeddings', '--json', '--config', fileWith(context, row(status))]);
    assert.equal(JSON.parse(out).status, status);
  }
  const { code, out } = await poolgate(['check', '--config', fileWith(context, row('optional'))]);
  assert.equal(code, 1);
  assert.match(out, /:13:37: routes\[0\]\.status: must be supported, translated, partial or unsupported\n/);
});

test('explain reports 404 or 405 for a path or method without a row', async (context) => {
  const path = fileWith(context, SMALL);
  const unknown = await poolgate(['explain', 'GET', '/v1/modles', '--config', path]);
  assert.deepEqual(
    [unknown.code, unknown.err],
    [1, '/v1/modles is in no row of the route table: 404 unknown_endpoint; did you mean /v1/models?\n'],
  );
  const otherwise = await poolgate(['explain', 'DELETE', '/v1/models', '--config', path]);
  assert.deepEqual([otherwise.code, otherwise.err], [1, '/v1/models has no DELETE: 405 method_not_allowed, with Allow: GET\n']);
});

test('routes and explain report the rows that are not served', async (context) => {
  const path = fileWith(context, SMALL);
  const rows = JSON.parse((await poolgate(['routes', '--json', '--config', path])).out);
  const table = (await poolgate(['routes', '--config', path])).out;
  for (const row of rows) {
    const { method, path: template, status, served, note } = row;
    assert.equal(served, note === null, `${method} ${template}`);
    assert.equal(note, status === 'unsupported' ? 'unsupported by its status: 404 unsupported_endpoint' : null);
    const word = served ? 'yes' : 'no';
    assert.ok(
      table.split('\n').some((line) => line.startsWith(method) && line.split(/ {2,}/)[1] === template && line.split(/ {2,}/)[3] === word),
    );
    const explained = JSON.parse((await poolgate(['explain', method, template, '--json', '--config', path])).out);
    assert.deepEqual([explained.served, explained.note], [served, note]);
  }
});
