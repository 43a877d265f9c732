// Files: their creation, upload, finalisation and metadata (C1, C2, D6 to D8, FM1, Q10, Q21).
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { FORM_TYPE, formOf } from '../../support/form.ts';
import { bearerOf, type Draft, type TestGateway } from '../../support/gateway.ts';
import { replyJson } from '../../support/rehearsal-replies.ts';
import {
  asking,
  BYTES,
  OTHER_POOL_KEY,
  sendBytes,
  startFiles,
  UPLOAD,
  upload,
  uploadedId,
  uploadedToSouth,
  uploadService,
} from '../../support/stages/files.ts';
import { until } from '../../support/until.ts';

let gate: TestGateway;
before(async () => {
  gate = await startFiles();
});
after(() => gate.close());
beforeEach(() => gate.reset());

const FILES = '/backend-api/files';
const FINISH = `${FILES}/*/uploaded`;
const METADATA = { file_name: 'plan.pdf', file_size: 12, use_case: 'codex' };
const other = { authorization: `Bearer ${OTHER_POOL_KEY}` };
const pathsAt = (account: string): readonly string[] => gate.upstream.requests(account).map(({ method, path }) => `${method} ${path}`);

describe('the backend routes', () => {
  test('[C1] metadata goes to one account, and its answer comes back with the upload address', async () => {
    const { status, json } = await gate.send(FILES, { body: { ...METADATA, unknown: { kept: true } } });
    assert.equal(status, 200);
    assert.match(json.file_id, /^file_/);
    assert.match(json.upload_url, /^http:\/\/127\.0\.0\.1:\d+\/rehearsal-uploads\//);
    const [sent] = gate.upstream.requests('north');
    assert.deepEqual([sent?.path, sent?.json], [FILES, { ...METADATA, unknown: { kept: true } }]);
    assert.deepEqual(gate.upstream.requests('south'), []);
  });

  test('[C1] multipart is refused, and so is a body without the metadata; neither reaches an account', async () => {
    const form = await sendBytes(gate, FILES, formOf(UPLOAD), { 'content-type': FORM_TYPE });
    assert.deepEqual([form.status, form.json.error.code], [415, 'unsupported_media_type']);
    for (const [body, param] of [
      [{ ...METADATA, file_name: undefined }, 'file_name'],
      [{ ...METADATA, file_name: ' ' }, 'file_name'],
      [{ ...METADATA, file_name: 'x'.repeat(1_025) }, 'file_name'],
      [{ ...METADATA, file_size: '12' }, 'file_size'],
      [{ ...METADATA, file_size: -1 }, 'file_size'],
      [{ ...METADATA, use_case: 'two words' }, 'use_case'],
    ] as const) {
      const { status, json } = await gate.send(FILES, { body });
      assert.deepEqual([status, json.error.code, json.error.param], [400, 'invalid_request', param]);
    }
    assert.deepEqual(gate.upstream.requests(), []);
  });

  test('[C1] [Q6] where an account refuses the creation for a fault of its own, another one is tried', async () => {
    gate.upstream.nextOn('north', FILES, 'refuse 503');
    const { json, headers } = await gate.send(FILES, { body: METADATA });
    assert.ok(json.file_id);
    assert.equal((await gate.row({ headers }))?.account, 'SOUTH');
  });

  test('[C1] an answer without a usable id is a failure', async () => {
    for (const answer of [{ upload_url: 'https://x.example' }, { file_id: '../up' }, { file_id: 7 }]) {
      gate.upstream.nextOn('north', FILES, replyJson(answer));
      const { status, json } = await gate.send(FILES, { body: METADATA });
      assert.deepEqual([status, json.error.code], [502, 'upstream_error'], JSON.stringify(answer));
    }
  });

  test('[C1] [C2] [Q3] 201 and 202 are answers: a native client gets the status as it came', async () => {
    const { json: answer } = await gate.send(FILES, { body: METADATA });
    for (const status of [201, 202]) {
      gate.upstream.nextOn('north', FILES, replyJson(answer, { status }));
      const created = await gate.send(FILES, { body: METADATA });
      assert.deepEqual([created.status, created.json], [status, answer]);
      gate.upstream.nextOn('north', FINISH, replyJson({ status: 'success' }, { status }));
      const finished = await gate.send(`${FILES}/${answer.file_id}/uploaded`, { method: 'POST' });
      assert.deepEqual([finished.status, finished.json], [status, { status: 'success' }]);
      const row = await gate.row(created);
      assert.deepEqual([row?.status, row?.outcome, row?.code], [status, 'completed', null]);
    }
    assert.deepEqual(gate.upstream.requests('south'), []);
  });

  test('[RB38] [C2] [Q10] finalising goes to the owner, with or without a body, and is repeated while the account answers retry', async () => {
    await gate.upstream.hangUp('north');
    const { json: created } = await gate.send(FILES, { body: { ...METADATA, file_size: BYTES.length } });
    await gate.upstream.pickUp('north');
    gate.heal();
    assert.equal((await fetch(created.upload_url, { method: 'PUT', body: BYTES, headers: { 'x-ms-blob-type': 'BlockBlob' } })).status, 201);
    gate.upstream.clear();
    for (const body of [undefined, '{}']) {
      const finished = await gate.send(`${FILES}/${created.file_id}/uploaded`, { method: 'POST', ...(body ? { body } : {}) });
      assert.deepEqual([finished.status, finished.json.status, finished.json.file_size_bytes], [200, 'success', BYTES.length]);
      assert.equal((await gate.row(finished))?.why?.reason, 'hard_pin');
    }
    assert.deepEqual(gate.upstream.requests('north'), []);
    const finish = `POST ${FILES}/${created.file_id}/uploaded`;
    assert.deepEqual(pathsAt('south'), [finish, finish, finish], 'the first was asked to come back');
    const { json: file } = await gate.send(`/v1/files/${created.file_id}`);
    assert.deepEqual([file.status, file.bytes, file.expires_at], ['processed', BYTES.length, null]);
  });

  test('[C2] an unknown file and another Pool’s are not found, and the request reaches no account', async () => {
    const { json: created } = await gate.send(FILES, { body: METADATA });
    gate.upstream.clear();
    for (const [id, headers] of [
      ['file_unknown', {}],
      [created.file_id, other],
    ] as const) {
      const { status, json } = await gate.send(`${FILES}/${id}/uploaded`, { method: 'POST', headers });
      assert.deepEqual([status, json.error.code], [404, 'file_not_found']);
    }
    assert.deepEqual(gate.upstream.requests(), []);
  });

  test('[C2] a refusal of the owner is the client’s answer: no other account is asked', async () => {
    const { json: created } = await gate.send(FILES, { body: METADATA });
    const finish = `${FILES}/${created.file_id}/uploaded`;
    gate.upstream.nextOn('north', FINISH, 'refuse 503');
    const { status } = await gate.send(finish, { method: 'POST' });
    assert.equal(status, 503);
    assert.deepEqual(gate.upstream.requests('south'), []);
    const failed = await gate.send(finish, { method: 'POST' });
    assert.equal(failed.json.status, 'error', 'nothing was uploaded');
    assert.equal((await gate.send(`/v1/files/${created.file_id}`)).json.status, 'error');
  });

  test('[Q21] a client that leaves ends the wait for the account', async () => {
    const { json: created } = await gate.send(FILES, { body: METADATA });
    const finish = `${FILES}/${created.file_id}/uploaded`;
    gate.upstream.nextOn('north', FINISH, replyJson({ status: 'retry' }), 'stall before headers');
    const leaving = new AbortController();
    const asked = gate.fetch(finish, { method: 'POST', signal: leaving.signal });
    await gate.upstream.stalled('north');
    leaving.abort();
    await assert.rejects(asked);
    await until('the lease to end', () => (gate.account('north').inFlight === 0 ? true : undefined));
    gate.upstream.release();
  });
});

describe('the compatible routes', () => {
  test('[RB38] [D7] [Q21] an upload creates the metadata, sends the bytes to the address, finalises, and answers the file object', async () => {
    const before = Math.floor(Date.now() / 1000);
    const { status, json, headers } = await upload(gate);
    assert.equal(status, 200);
    const { id, created_at, ...rest } = json;
    assert.match(id, /^file_/);
    assert.ok(created_at >= before);
    const expected = {
      object: 'file',
      bytes: BYTES.length,
      expires_at: null,
      filename: 'notes.txt',
      purpose: 'user_data',
      status: 'processed',
    };
    assert.deepEqual(rest, expected);
    const [create, put, first, second, ...more] = gate.upstream.requests('north');
    assert.deepEqual(create?.json, { file_name: 'notes.txt', file_size: BYTES.length, use_case: 'user_data' });
    assert.deepEqual([put?.method, put?.body, put?.headers['content-type']], ['PUT', BYTES, 'text/plain']);
    assert.equal(put?.headers.authorization, undefined, 'the address alone is the credential');
    assert.equal(put?.headers['x-ms-blob-type'], 'BlockBlob');
    assert.deepEqual([first?.path, second?.path], [`${FILES}/${id}/uploaded`, `${FILES}/${id}/uploaded`]);
    assert.deepEqual(more, []);
    const row = await gate.row({ headers });
    assert.deepEqual([row?.endpoint, row?.account, row?.outcome, row?.input_tokens], ['/v1/files', 'NORTH', 'completed', null]);
  });

  test('[Q18] a file uses no tokens, so its usage is known', async () => {
    const sums = async (): Promise<readonly number[]> => {
      const rows = await gate.usageRows();
      return [rows.reduce((sum, { requests }) => sum + requests, 0), rows.reduce((sum, { unknown }) => sum + unknown, 0)];
    };
    const [requests = 0, unknown] = await sums();
    assert.equal((await upload(gate)).status, 200);
    assert.deepEqual(await sums(), [requests + 1, unknown]);
  });

  test('[D7] [Q3] an account may create with 201 and finalise with 202: the client gets the file with 200', async () => {
    await using service = await uploadService((request, response) => void request.resume().on('end', () => response.end()));
    const { file_id } = (await gate.send(FILES, { body: METADATA })).json;
    gate.upstream.nextOn('north', FILES, replyJson({ file_id, upload_url: service.url }, { status: 201 }));
    gate.upstream.nextOn('north', FINISH, replyJson({ status: 'success' }, { status: 202 }));
    const { status, json, headers } = await upload(gate);
    assert.deepEqual([status, json.id, json.status, service.seen.length], [200, file_id, 'processed', 1]);
    assert.equal((await gate.row({ headers }))?.status, 200);
  });

  test('[D7] a media type that no header can have is replaced, and does not count as a failure of the account', async () => {
    for (const type of ['te\0t/plain', 'text/pla\x1en', 'text', 'text/plain\rx: y']) {
      const parts = UPLOAD.map((part) => ('type' in part ? { ...part, type } : part));
      assert.equal((await upload(gate, parts)).status, 200, JSON.stringify(type));
      const put = gate.upstream.requests('north').find(({ method }) => method === 'PUT');
      assert.match(String(put?.headers['content-type']), /^(application\/octet-stream|text\/plain)$/);
      gate.upstream.clear();
    }
  });

  test('[D7] the parts may come in any order', async () => {
    assert.equal((await upload(gate, UPLOAD.toReversed())).status, 200);
  });

  test('[D7] a form without its file or purpose, or with anything else, is refused before an account is asked', async () => {
    const [file, purpose] = UPLOAD as [(typeof UPLOAD)[0], (typeof UPLOAD)[0]];
    for (const [parts, code, param] of [
      [[purpose], 'invalid_request', 'file'],
      [[{ name: 'file', value: 'no file' }, purpose], 'invalid_request', 'file'],
      [[{ ...file, value: '' }, purpose], 'invalid_request', 'file'],
      [[file, file, purpose], 'invalid_request', 'file'],
      [[file], 'invalid_request', 'purpose'],
      [[file, purpose, purpose], 'invalid_request', 'purpose'],
      [[file, { name: 'purpose', value: 'two words' }], 'invalid_request', 'purpose'],
      [[...UPLOAD, { name: 'expires_after[seconds]', value: '3600' }], 'unsupported_parameter', 'expires_after[seconds]'],
      [[...UPLOAD, { name: 'my secret', value: '1' }], 'unsupported_parameter', null],
    ] as const) {
      const { status, json } = await upload(gate, parts);
      assert.deepEqual([status, json.error.code, json.error.param], [400, code, param]);
    }
    const json = await gate.send('/v1/files', { body: { purpose: 'user_data' } });
    assert.deepEqual([json.status, json.json.error.code], [415, 'unsupported_media_type']);
    assert.deepEqual(gate.upstream.requests(), []);
  });

  test('[Q21] [LI3] a file above limits.file_bytes is refused, by its length where that is stated', async () => {
    await using own = await startFiles({
      config: (draft) => {
        draft.limits = { file_bytes: 1_000 };
      },
    });
    own.upstream.clear();
    const sized = (size: number) => upload(own, [{ name: 'file', filename: 'a', value: Buffer.alloc(size, 'a') }, ...UPLOAD.slice(1)]);
    assert.equal((await sized(1_000)).status, 200);
    own.upstream.clear();
    for (const size of [1_001, 200_000]) {
      const { status, json } = await sized(size);
      assert.deepEqual([status, json.error.code], [413, 'request_too_large'], `${size}`);
    }
    assert.deepEqual(own.upstream.requests(), []);
  });

  test('[D6] [Q21] the list is newest first, in pages, and only of the Pool', async () => {
    await using own = await startFiles();
    const ids: string[] = [];
    for (const purpose of ['user_data', 'vision', 'user_data']) {
      ids.unshift((await upload(own, [...UPLOAD.slice(0, 1), { name: 'purpose', value: purpose }])).json.id);
    }
    await upload(own, UPLOAD, OTHER_POOL_KEY);
    const list = async (query: string) => (await own.send(`/v1/files${query}`)).json;
    const whole = await list('');
    assert.deepEqual([whole.object, whole.has_more, whole.first_id, whole.last_id], ['list', false, ids[0], ids[2]]);
    const idsOf = ({ data }: { data: readonly { id: string }[] }) => data.map(({ id }) => id);
    assert.deepEqual(idsOf(whole), ids);
    const first = await list('?limit=2');
    assert.deepEqual([idsOf(first), first.has_more], [ids.slice(0, 2), true]);
    const second = await list(`?limit=2&after=${first.last_id}`);
    assert.deepEqual([idsOf(second), second.has_more], [ids.slice(2), false]);
    assert.deepEqual(idsOf(await list('?order=asc')), ids.toReversed());
    assert.deepEqual(idsOf(await list(`?order=asc&after=${ids[1]}`)), [ids[0]]);
    assert.deepEqual(idsOf(await list('?purpose=vision')), [ids[1]]);
    assert.deepEqual(await list('?purpose=none'), { object: 'list', data: [], has_more: false, first_id: null, last_id: null });
    for (const [query, status, code, param] of [
      ['?limit=0', 400, 'invalid_request', 'limit'],
      ['?limit=10001', 400, 'invalid_request', 'limit'],
      ['?limit=two', 400, 'invalid_request', 'limit'],
      ['?order=random', 400, 'invalid_request', 'order'],
      ['?after=file_unknown', 404, 'file_not_found', 'after'],
    ] as const) {
      const reply = await own.send(`/v1/files${query}`);
      assert.deepEqual([reply.status, reply.json.error.code, reply.json.error.param], [status, code, param], query);
    }
  });

  test('[D6] one file’s metadata is given to its Pool, and to no other', async () => {
    const { json } = await upload(gate);
    gate.upstream.clear();
    assert.deepEqual((await gate.send(`/v1/files/${json.id}`)).json, json);
    const stranger = await gate.send(`/v1/files/${json.id}`, { headers: other });
    assert.deepEqual([stranger.status, stranger.json.error.code], [404, 'file_not_found']);
    assert.deepEqual(gate.upstream.requests(), []);
  });

  test('[D8] content and delete check the owner, leave a row, and are not supported; no bytes are served', async () => {
    const id = await uploadedId(gate);
    gate.upstream.clear();
    for (const [method, path] of [
      ['GET', `/v1/files/${id}/content`],
      ['DELETE', `/v1/files/${id}`],
    ] as const) {
      const own = await gate.send(path, { method });
      assert.deepEqual([own.status, own.json.error.code], [404, 'unsupported_endpoint']);
      const row = await gate.row(own);
      assert.deepEqual([row?.method, row?.status, row?.code], [method, 404, 'unsupported_endpoint']);
      const foreign = await gate.send(path, { method, headers: other });
      assert.deepEqual([foreign.status, foreign.json.error.code], [404, 'file_not_found']);
    }
    assert.deepEqual(gate.upstream.requests(), []);
    assert.equal((await gate.send(`/v1/files/${id}`)).status, 200, 'the file is still there');
  });
});

describe('the upload address', () => {
  const created = (upload_url: unknown) => replyJson({ file_id: 'file_by_script', upload_url: upload_url as string });

  test('[Q21] a redirect, an error, a cut and a reset are an upstream error, and the file is not listed', async () => {
    let elsewhere = 0;
    await using target = await uploadService((_request, response) => {
      elsewhere += 1;
      response.end();
    });
    type Answer = (response: import('node:http').ServerResponse) => unknown;
    const answers: readonly (readonly [Answer, string])[] = [
      [(response) => response.writeHead(307, { location: target.url }).end(), 'upstream_status'],
      [(response) => response.writeHead(500).end('no'), 'upstream_status'],
      [(response) => response.socket?.destroy(), 'upstream_network'],
      [(response) => response.socket?.resetAndDestroy(), 'upstream_network'],
    ];
    for (const [answer, errorClass] of answers) {
      await using service = await uploadService((_request, response) => void answer(response));
      gate.upstream.nextOn('north', FILES, created(`${service.url}/put?signature=secret`));
      const { status, json, headers } = await upload(gate);
      assert.deepEqual([status, json.error.code], [502, 'upstream_error']);
      const row = await gate.row({ headers });
      const [attempt] = await gate.attempts(row?.id ?? '');
      assert.deepEqual([row?.outcome, row?.error_class, attempt?.error_class], ['failed', errorClass, errorClass]);
    }
    assert.equal(elsewhere, 0, 'no redirect is followed');
    assert.equal((await gate.send('/v1/files/file_by_script')).status, 404);
    assert.deepEqual(gate.upstream.requests('south'), [], 'no other account is asked: this one has the file');
  });

  test('[Q21] an address that is not permitted is never connected to', async () => {
    for (const address of [
      'http://provider.example/put',
      'https://user:pass@127.0.0.1/put',
      'ftp://127.0.0.1/put',
      'file:///etc/passwd',
      '/put',
      '',
      7,
      undefined,
    ]) {
      gate.upstream.nextOn('north', FILES, created(address));
      const { status, json } = await upload(gate);
      assert.deepEqual([status, json.error.code], [502, 'upstream_error'], String(address));
    }
  });

  test('[Q21] an upload that does not end in time is a timeout', async () => {
    await using own = await startFiles({
      config: (draft) => {
        draft.timeouts.upstream_first_byte_ms = 100;
      },
    });
    await using service = await uploadService(() => undefined);
    own.upstream.nextOn('north', FILES, created(service.url));
    const { status, json } = await upload(own);
    assert.deepEqual([status, json.error.code], [504, 'upstream_timeout']);
  });

  test('a client that leaves during the upload ends it', async () => {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    await using service = await uploadService((request) => {
      request.once('close', resolve);
      begin();
    });
    gate.upstream.nextOn('north', FILES, created(service.url));
    const leaving = new AbortController();
    const asked = gate.fetch('/v1/files', {
      body: formOf(UPLOAD),
      headers: { 'content-type': FORM_TYPE },
      signal: leaving.signal,
    } as never);
    await begun;
    leaving.abort();
    await assert.rejects(asked);
    await ended;
  });
});

describe('the finalisation of an upload', () => {
  const finishing = async (...scripts: Parameters<TestGateway['upstream']['nextOn']>[2][]) => {
    gate.upstream.nextOn('north', FINISH, ...scripts);
    return upload(gate);
  };
  const failing = async (...scripts: Parameters<typeof finishing>) => {
    const { status, json } = await finishing(...scripts);
    assert.deepEqual([status, json.error?.code], [502, 'upstream_error']);
  };

  test('[Q21] the account’s expiry is the file’s, and an expired file is not found', async () => {
    const expires = Math.floor(Date.now() / 1000) + 1_000;
    const { json: lasting } = await finishing(replyJson({ status: 'success', expires_at: expires }));
    assert.deepEqual([lasting.status, lasting.expires_at], ['processed', expires]);
    assert.equal((await gate.send(`/v1/files/${lasting.id}`)).json.expires_at, expires);
    const { json: expired } = await finishing(replyJson({ status: 'success', expires_at: 1_000 }));
    assert.equal(expired.expires_at, 1_000);
    const { status, json } = await gate.send(`/v1/files/${expired.id}`);
    assert.deepEqual([status, json.error.code], [404, 'file_not_found']);
    const turn = await gate.send('/v1/responses', {
      body: { model: 'model-a', input: [asking({ type: 'input_file', file_id: expired.id })] },
    });
    assert.deepEqual([turn.status, turn.json.error.code], [404, 'file_not_found']);
  });

  for (const [what, edit] of [
    ['removes', (draft: Draft) => void draft.accounts.shift()],
    ['moves', (draft: Draft) => void Object.assign(draft.accounts[0], { base_url: 'http://127.0.0.1:9' })],
  ] as const) {
    test(`goes to the account as it was configured at the beginning of the upload, also if a reload ${what} it before the end`, async () => {
      await using own = await startFiles();
      const arrived = Promise.withResolvers<ServerResponse>();
      await using service = await uploadService((request, response) => void request.resume().on('end', () => arrived.resolve(response)));
      const { json: created } = await own.send(FILES, { body: METADATA });
      own.upstream.clear();
      own.upstream.nextOn('north', FILES, replyJson({ ...created, upload_url: service.url }));
      own.upstream.nextOn('north', FINISH, replyJson({ status: 'retry' }), replyJson({ status: 'success' }));
      const uploading = upload(own);
      const bytesArrived = await arrived.promise;
      await own.reconfigure((draft) => {
        edit(draft);
        for (const pool of draft.pools) pool.assignments = [{ account: 'south' }];
      });
      bytesArrived.end();
      const { status, json } = await uploading;
      assert.deepEqual([status, json.status], [200, 'processed']);
      const finished = own.upstream.requests('north').filter(({ path }) => path.endsWith('/uploaded'));
      assert.deepEqual(
        finished.map(({ headers }) => headers.authorization),
        Array(2).fill(`Bearer ${bearerOf('north')}`),
      );
    });
  }

  test('[Q21] an error, an answer without a status and a missing answer are an upstream error', async () => {
    await failing(replyJson({ status: 'error' }));
    await failing(replyJson({ status: 'done' }));
    await failing(replyJson([]));
    await failing('refuse 500');
    await failing('reset before headers');
    await failing(replyJson({ status: 'retry' }), 'malformed event');
  });

  test('[RB38] [Q21] after 30 seconds of retry the upload has failed, and a native client gets the account’s own answer', async (context) => {
    const clock = new ManualClock();
    const after = clock.after.bind(clock);
    // Time passes only while the gateway pauses between two requests.
    context.mock.method(clock, 'after', (ms: number, run: () => void) => {
      const cancel = after(ms, run);
      if (ms === 250) setImmediate(() => void clock.advance(ms));
      return cancel;
    });
    await using own = await startFiles({ clock });
    const calls = (): number => own.upstream.requests('north').filter(({ path }) => path.endsWith('/uploaded')).length;
    own.upstream.nextOn('north', FINISH, ...Array.from({ length: 300 }, () => replyJson({ status: 'retry' })));
    const { status, json } = await upload(own);
    assert.deepEqual([status, json.error.code], [504, 'upstream_timeout']);
    assert.equal(calls(), 121, 'requests in 30 s, every 250 ms');
    const { json: created } = await own.send(FILES, { body: METADATA });
    const native = await own.send(`${FILES}/${created.file_id}/uploaded`, { method: 'POST' });
    assert.deepEqual([native.status, native.json], [200, { status: 'retry' }]);
    assert.equal(calls(), 2 * 121);
  });
});

test('[D6] [Q10] a second gateway on the same store finds a new file at once, and so does a restarted one', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'poolgate-files-'));
  const one = await startFiles({ store: `sqlite:${join(folder, 'poolgate.db')}` });
  try {
    const id = await uploadedToSouth(one);
    const two = await one.twin();
    one.upstream.clear();
    const { status } = await two.send('/v1/responses', {
      body: { model: 'model-a', input: [asking({ type: 'input_file', file_id: id })] },
    });
    assert.deepEqual([status, one.upstream.turns('south').length], [200, 1]);
    await two.stop();
    const three = await one.restarted();
    assert.equal((await three.send(`/v1/files/${id}`)).status, 200);
    await three.stop();
  } finally {
    await one.close();
    await rm(folder, { recursive: true });
  }
});

test('[FM1] [C1] the store has the metadata, and neither the bytes nor the address of the upload', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'poolgate-files-'));
  const own = await startFiles({ store: `sqlite:${join(folder, 'poolgate.db')}` });
  try {
    const id = await uploadedId(own);
    const { json } = await own.send(FILES, { body: METADATA });
    await own.flush();
    const texts = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'latin1')));
    const kept = texts.join('') + own.logged.join('');
    assert.ok(kept.includes(id) && kept.includes('notes.txt') && kept.includes('plan.pdf'));
    for (const secret of [BYTES.toString(), 'rehearsal-uploads', 'signature', json.upload_url]) assert.ok(!kept.includes(secret), secret);
    assert.ok(!own.logged.join('').includes('notes.txt'), 'the name of a file is in the store only');
  } finally {
    await own.close();
    await rm(folder, { recursive: true });
  }
});
