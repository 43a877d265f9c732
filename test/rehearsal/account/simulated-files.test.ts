// The files of a simulated account: created, uploaded, ready at the second request, and known only to that account.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startUpstream } from '../../support/rehearsal.ts';
import { ask, at } from '../../support/rehearsal-client.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';

const upstream = await startUpstream({ accounts: ['north', 'south', { id: 'locked', credential: 'open-sesame' }] });
after(() => upstream.close());
const FILES = '/backend-api/files';
const north = upstream.urlOf('north');

const create = (changes: object = {}) => ask(north, { file_name: 'a.txt', file_size: 3, use_case: 'codex', ...changes }, {}, FILES);
const put = (url: unknown, body: string, headers: Record<string, string> = {}) =>
  fetch(String(url), { method: 'PUT', body, headers: { 'x-ms-blob-type': 'BlockBlob', ...headers } });
const turnWith = (id: unknown) => turnBody('', { input: [{ role: 'user', content: [{ type: 'input_file', file_id: String(id) }] }] });

test('a file is created, uploaded without a credential, and ready when it is asked for again', async () => {
  const { json } = await create();
  const finish = `${FILES}/${json?.file_id}/uploaded`;
  assert.equal((await ask(north, {}, {}, finish)).json?.status, 'error', 'nothing was uploaded');
  assert.equal((await put(json?.upload_url, 'four')).status, 400, 'another size');
  assert.equal((await put(json?.upload_url, 'abc', { 'x-ms-blob-type': 'AppendBlob' })).status, 400, '[RB38] another kind of blob');
  assert.equal((await put(json?.upload_url, 'abc', { authorization: 'Bearer x' })).status, 400, 'a credential where none belongs');
  assert.equal((await put(json?.upload_url, 'abc', { 'content-type': 'text/plain' })).status, 201);
  assert.equal((await ask(north, {}, {}, finish)).json?.status, 'retry');
  const { json: finished } = await ask(north, {}, {}, finish);
  assert.deepEqual([finished?.status, finished?.mime_type, finished?.file_size_bytes], ['success', 'text/plain', 3]);
});

test('a creation without its members is refused with their names', async () => {
  for (const member of ['file_name', 'file_size', 'use_case']) {
    const { status, json } = await create({ [member]: null });
    assert.deepEqual([status, at(json, 'error', 'param')], [400, member]);
  }
});

test('a file exists only at its own account', async () => {
  const { json } = await create();
  assert.equal((await ask(north, turnWith(json?.file_id))).status, 200);
  const foreign = await ask(upstream.urlOf('south'), turnWith(json?.file_id));
  assert.deepEqual([foreign.status, at(foreign.json, 'error', 'param')], [404, 'input.0.content.0.file_id']);
  assert.equal((await ask(upstream.urlOf('south'), {}, {}, `${FILES}/${json?.file_id}/uploaded`)).status, 404);
});

test('an account with a credential requires it for a creation, and not for the upload', async () => {
  const locked = upstream.urlOf('locked');
  const metadata = { file_name: 'a', file_size: 1, use_case: 'x' };
  assert.equal((await ask(locked, metadata, {}, FILES)).status, 401);
  const { json } = await ask(locked, metadata, { authorization: 'Bearer open-sesame' }, FILES);
  assert.equal((await put(json?.upload_url, 'a')).status, 201);
});
