// Transcription on both routes: streaming of the form, its fields and models, and uploads that break off (C3, D9, D11, Q23).
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { after, before, beforeEach, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { SeededRandom } from '../../simulation/seeded-random.ts';
import { BOUNDARY, FORM_TYPE, formOf, type Part } from '../../support/form.ts';
import { KEY, startGateway, type TestGateway } from '../../support/gateway.ts';
import { headOf, RawClient } from '../../support/network/raw.ts';
import { replyBytes, replyJson } from '../../support/rehearsal-replies.ts';
import { ALL_CASES, byTurns } from '../../support/sample.ts';
import { arrivedParts, field, file, model, NATIVE, PUBLIC, SOUND, startTaker, transcribe } from '../../support/stages/audio.ts';
import { until } from '../../support/until.ts';

let gate: TestGateway;
before(async () => {
  gate = await startGateway();
});
after(() => gate.close());
beforeEach(() => gate.reset());

const sent = async (parts: readonly Part[], path = PUBLIC) => {
  const { status, text } = await transcribe(gate, path, parts);
  assert.equal(status, 200, text);
  const [arrived] = gate.upstream.requests();
  assert.ok(arrived);
  assert.equal(arrived.path, NATIVE);
  return arrivedParts(arrived);
};

const TEXT_201 = { status: 201, headers: { 'content-type': 'text/plain' } };
const FILE = 'file: voice.wav, audio/wav';
const MODEL = 'model=gpt-4o-transcribe';

describe('the request to the account', () => {
  test('[C3] the native route forces the model, keeps safe fields in their order, and drops all others', async () => {
    const { parts, bytes } = await sent(
      [
        field('prompt', 'names: "Ada"\r\nand Grace'),
        field('model', 'a-model-of-its-own'),
        field('chunking_strategy', 'auto'),
        file(),
        { name: 'extra', filename: 'more.bin', type: 'application/octet-stream', value: 'dropped' },
        field('language', 'de'),
        field('temperature', '0.2'),
        field('response_format', 'json'),
      ],
      NATIVE,
    );
    assert.deepEqual(parts, [MODEL, 'prompt=names: "Ada"\r\nand Grace', FILE, 'language=de', 'temperature=0.2', 'response_format=json']);
    assert.deepEqual(bytes, SOUND);
  });

  test('[C3] the native answer is the account’s, including the language', async () => {
    const usage = { type: 'tokens', input_tokens: 14, output_tokens: 6, total_tokens: 20 };
    const answer = { text: 'hello', language: 'en', detected_language: 'en', usage };
    gate.upstream.nextOn('north', NATIVE, replyJson(answer));
    const { json, headers } = await transcribe(gate, NATIVE, [file()]);
    assert.deepEqual(json, answer);
    const row = await gate.row({ headers });
    assert.deepEqual(
      [row?.endpoint, row?.model, row?.status, row?.outcome, row?.input_tokens, row?.output_tokens],
      [NATIVE, 'gpt-4o-transcribe', 200, 'completed', 14, 6],
    );
  });

  test('[RB40] a form without a model is transcribed, and a text alone is a whole answer', async () => {
    for (const path of [NATIVE, PUBLIC]) {
      gate.upstream.clear();
      const parts = [file(), field('language', 'de')];
      const { status, json, headers } = await transcribe(gate, path, path === PUBLIC ? [model, ...parts] : parts);
      assert.deepEqual([status, json], [200, { text: `a transcript of ${SOUND.length} bytes` }], path);
      const [arrived] = gate.upstream.requests();
      assert.ok(arrived);
      assert.deepEqual((await arrivedParts(arrived)).parts, [MODEL, FILE, 'language=de']);
      const row = await gate.row({ headers });
      assert.deepEqual([row?.outcome, row?.input_tokens ?? null, row?.output_tokens ?? null], ['completed', null, null]);
    }
  });

  test('[C3] [D9] [Q3] an answer with status 201 is accepted as a transcript, and a native client gets that status', async () => {
    for (const [path, status] of [
      [NATIVE, 201],
      [PUBLIC, 200],
    ] as const) {
      for (const format of ['json', 'text']) {
        const answer = format === 'json' ? replyJson({ text: 'hello' }, { status: 201 }) : replyBytes('hello', TEXT_201);
        gate.upstream.nextOn('north', NATIVE, answer);
        const reply = await transcribe(gate, path, [model, file()]);
        assert.deepEqual([reply.status, reply.json?.text ?? reply.text], [status, 'hello'], `${path} ${format}`);
      }
    }
  });

  test('[D9] [D11] an alias and the id itself are sent as the id, before or after the file', async () => {
    for (const named of ['gpt-transcribe', 'gpt-4o-transcribe']) {
      for (const parts of [
        [field('model', named), file()],
        [file(), field('model', named)],
      ]) {
        gate.upstream.clear();
        assert.deepEqual((await sent(parts)).parts, [MODEL, FILE]);
      }
    }
  });

  test('[D11] lists keep their order, duplicates and spelling, and empty ones are omitted', async () => {
    const { parts } = await sent([
      field('keywords[]', 'b'),
      field('languages', 'de'),
      field('keywords[]', 'a'),
      model,
      field('keywords[]', 'b'),
      file(),
      field('languages', 'de'),
      field('languages', 'en'),
    ]);
    assert.deepEqual(parts, ['keywords[]=b', 'languages=de', 'keywords[]=a', MODEL, 'keywords[]=b', FILE, 'languages=de', 'languages=en']);
    for (const path of [PUBLIC, NATIVE]) {
      gate.upstream.clear();
      const empty = await sent([model, field('keywords', ''), file(), field('languages[]', '')], path);
      assert.deepEqual(empty.parts, [MODEL, FILE]);
    }
    gate.upstream.clear();
    assert.deepEqual((await sent([model, field('keywords', ''), field('keywords', 'a'), file()])).parts, [
      MODEL,
      'keywords=',
      'keywords=a',
      FILE,
    ]);
  });

  test('[D11] [Q23] the public answer does not state the detected language', async () => {
    gate.upstream.nextOn(
      'north',
      NATIVE,
      replyJson({
        text: 'hello',
        language: 'en',
        languages: ['en'],
        detected_language: 'en',
        language_probability: 1,
        duration: 2,
        segments: [{ id: 0, language: 'en' }],
      }),
    );
    const { json } = await transcribe(gate, PUBLIC, [model, file()]);
    assert.deepEqual(json, { text: 'hello', duration: 2, segments: [{ id: 0 }] });
  });

  test('[Q23] a transcript in a text format is passed on as text', async () => {
    for (const path of [PUBLIC, NATIVE]) {
      const { status, text, headers } = await transcribe(gate, path, [model, field('response_format', 'text'), file()]);
      assert.deepEqual([status, text], [200, `a transcript of ${SOUND.length} bytes`]);
      assert.equal(headers.get('content-type'), 'text/plain; charset=utf-8');
    }
  });

  test('[Q15] cookies, the client’s credential, its boundary and its query do not go to the account', async () => {
    await transcribe(gate, `${PUBLIC}?trace=secret`, [model, file()], { cookie: 'a=1', 'x-anything': '1' });
    const [arrived] = gate.upstream.requests();
    assert.equal(arrived?.headers.authorization, 'Bearer bearer-of-north');
    assert.equal(arrived?.query, '');
    assert.ok(!JSON.stringify(arrived?.headers).includes(BOUNDARY));
    assert.equal(arrived?.headers.cookie, undefined);
    assert.equal(arrived?.headers['transfer-encoding'], 'chunked');
  });

  test('a file name keeps its characters, and none of them ends the header', async () => {
    const body = formOf([model, { ...file(), filename: 'Grüße 100%.wav' }]);
    const { status } = await gate.send(PUBLIC, { body, headers: { 'content-type': FORM_TYPE } });
    assert.equal(status, 200);
    const [arrived] = gate.upstream.requests();
    assert.ok(arrived);
    assert.deepEqual((await arrivedParts(arrived)).parts, [MODEL, 'file: Grüße 100%.wav, audio/wav']);
  });

  test('[Q1] a compressed form is decoded, within its limits', async () => {
    const headers = { 'content-type': FORM_TYPE, 'content-encoding': 'gzip' };
    const { status, text } = await gate.send(PUBLIC, { body: gzipSync(formOf([model, file()])), headers });
    assert.equal(status, 200, text);
    const [arrived] = gate.upstream.requests();
    assert.ok(arrived);
    assert.equal(arrived.headers['content-encoding'], undefined);
    assert.deepEqual((await arrivedParts(arrived)).bytes, SOUND);
    const bomb = await gate.send(PUBLIC, { body: gzipSync(formOf([model, file(Buffer.alloc(20_000_000))])), headers });
    assert.deepEqual([bomb.status, bomb.json.error.code], [413, 'request_too_large']);
    const unknown = await gate.send(PUBLIC, { body: formOf([model, file()]), headers: { ...headers, 'content-encoding': 'lzma' } });
    assert.deepEqual([unknown.status, unknown.json.error.code], [415, 'unsupported_content_encoding']);
  });

  test('the same form arrives, wherever its bytes are split', async () => {
    const whole = formOf([field('prompt', 'p\r\n-'), model, file(), field('keywords[]', 'a')]);
    for (const size of [1, 2, 3, 7, BOUNDARY.length, 64]) {
      gate.upstream.clear();
      using client = await RawClient.connect(gate.url);
      client.write(headOf('POST', PUBLIC, { 'content-type': FORM_TYPE, 'transfer-encoding': 'chunked' }));
      for (let at = 0; at < whole.length; at += size) {
        const piece = whole.subarray(at, at + size);
        client.write(Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]));
      }
      client.write('0\r\n\r\n');
      assert.equal((await client.answer()).status, 200);
      const [arrived] = gate.upstream.requests();
      assert.ok(arrived);
      const { parts, bytes } = await arrivedParts(arrived);
      assert.deepEqual(parts, ['prompt=p\r\n-', MODEL, FILE, 'keywords[]=a']);
      assert.deepEqual(bytes, SOUND);
    }
  });
});

const BAD = [
  ['an unknown field', field('stream', 'true'), 400, 'unsupported_parameter', 'stream'],
  ['an unknown field with a name of the client’s own', field('my secret', '1'), 400, 'unsupported_parameter', null],
  ['another file', { ...file(), name: 'second' }, 400, 'unsupported_parameter', 'second'],
  ['another model', field('model', 'whisper-1'), 400, 'invalid_model', 'model'],
  ['a file that is none', field('file', 'no file'), 400, 'invalid_request', 'file'],
  ['a field that is too long', field('prompt', 'x'.repeat(70_000)), 413, 'request_too_large', null],
  ['too many parts', Array.from({ length: 1_100 }, () => field('keywords', 'k')), 413, 'request_too_large', null],
  ['too many fields', Array.from({ length: 20 }, () => field('keywords', 'k'.repeat(20_000))), 413, 'request_too_large', null],
] as const;

describe('refusals', () => {
  for (const [what, bad, status, code, param] of BAD) {
    test(`[Q23] ${what} before the file is refused before an account is asked`, async () => {
      const { status: told, json, headers } = await transcribe(gate, PUBLIC, [model, ...[bad].flat(), file()]);
      assert.deepEqual([told, json.error.code, json.error.param], [status, code, param]);
      assert.deepEqual(gate.upstream.requests(), []);
      assert.equal((await gate.row({ headers }))?.outcome, 'refused');
    });

    test(`[Q23] ${what} after a long file ends the request to the account, and gets its own error`, async () => {
      const { status: told, json } = await transcribe(gate, PUBLIC, [model, file(Buffer.alloc(3_000_000, 'a')), ...[bad].flat()]);
      assert.deepEqual([told, json.error.code, json.error.param], [status, code, param]);
      const [arrived] = await until('the request to end', () => {
        const requests = gate.upstream.requests();
        return requests.length > 0 && requests.every(({ closing }) => closing !== undefined) ? requests : undefined;
      });
      assert.equal(arrived?.isComplete, false, 'the account never got a whole form');
      assert.equal(gate.account('north').status, 'active', 'and is not to blame');
    });
  }

  test('[Q23] a form without a model or a file, or a body that is not a form, is refused', async () => {
    for (const [parts, code, param] of [
      [[file()], 'invalid_model', 'model'],
      [[model], 'invalid_request', 'file'],
      [[], 'invalid_request', 'file'],
    ] as const) {
      const { status, json } = await transcribe(gate, PUBLIC, parts);
      assert.deepEqual([status, json.error.code, json.error.param], [400, code, param]);
    }
    for (const [type, status, code] of [
      ['application/json', 415, 'unsupported_media_type'],
      ['multipart/form-data', 400, 'invalid_request'],
      ['multipart/mixed; boundary=b', 415, 'unsupported_media_type'],
    ] as const) {
      const { status: told, json } = await gate.send(PUBLIC, { body: formOf([model, file()]), headers: { 'content-type': type } });
      assert.deepEqual([told, json.error.code], [status, code], type);
    }
    const native = await transcribe(gate, NATIVE, [field('language', 'de')]);
    assert.deepEqual([native.status, native.json.error.param], [400, 'file']);
  });

  test('a form with changed, missing or doubled bytes gets an answer, and an account gets only well-formed forms of it', async () => {
    const random = new SeededRandom(23);
    const whole = formOf([field('prompt', 'p'), model, file(), field('languages[]', 'de')]);
    for (let round = 0; round < (ALL_CASES ? 150 : 30); round++) {
      gate.upstream.clear();
      const at = Math.floor(random.between(0, whole.length));
      const bent = Buffer.from(whole);
      bent[at] = Math.floor(random.between(0, 256));
      const pieces = [
        bent,
        Buffer.concat([whole.subarray(0, at), whole.subarray(at + 1 + Math.floor(random.between(0, 40)))]),
        Buffer.concat([whole.subarray(0, at), whole]),
      ];
      const { status, text } = await gate.send(round % 2 === 0 ? PUBLIC : NATIVE, {
        body: pieces[round % 3] as Buffer,
        headers: { 'content-type': FORM_TYPE },
      });
      assert.ok([200, 400, 413].includes(status), `${status} in round ${round}: ${text}`);
      for (const arrived of gate.upstream.requests().filter(({ isComplete }) => isComplete)) await arrivedParts(arrived);
    }
    assert.equal(gate.count('server_errors'), 0);
  });

  test('[Q4] the allow-list has the canonical id: named by an alias, forced, before or after the file', async () => {
    await using own = await startGateway({
      config: (draft) => {
        draft.keys[0].models = ['model-a', 'whisper-1'];
      },
    });
    own.upstream.clear();
    for (const [path, parts, code] of [
      [PUBLIC, [field('model', 'gpt-transcribe'), file()], 'model_not_allowed'],
      [PUBLIC, [file(), model], 'model_not_allowed'],
      [PUBLIC, [field('model', 'other'), file()], 'model_not_allowed'],
      [PUBLIC, [field('model', 'whisper-1'), file()], 'invalid_model'],
      [NATIVE, [field('model', 'whisper-1'), file()], 'model_not_allowed'],
    ] as const) {
      const { status, json } = await transcribe(own, path, parts);
      assert.deepEqual([status, json.error.code, json.error.param], [code === 'invalid_model' ? 400 : 403, code, 'model']);
    }
    await own.reconfigure((draft) => {
      draft.keys[0].models = ['gpt-4o-transcribe'];
    });
    for (const path of [PUBLIC, NATIVE])
      assert.equal((await transcribe(own, path, [field('model', 'gpt-transcribe'), file()])).status, 200);
  });

  test('[Q23] the deployment decides which model and aliases there are', async () => {
    await using own = await startGateway({
      upstream: { strict: false },
      config: (draft) => {
        draft.transcription = { model: 'own-model', aliases: ['short'] };
      },
    });
    own.upstream.clear();
    own.upstream.nextOn('north', NATIVE, replyJson({ text: 'x' }));
    await transcribe(own, PUBLIC, [field('model', 'short'), file()]);
    const [arrived] = own.upstream.requests();
    assert.ok(arrived);
    assert.deepEqual((await arrivedParts(arrived)).parts, ['model=own-model', FILE]);
    assert.equal((await transcribe(own, PUBLIC, [model, file()])).json.error.code, 'invalid_model');
  });

  test('[Q23] [LI3] an upload above limits.upload_bytes is refused by its length, and by its bytes where it is chunked', async () => {
    await using own = await startGateway({
      config: (draft) => {
        draft.limits = { upload_bytes: 1_000_000 };
      },
    });
    own.upstream.clear();
    const large = formOf([model, file(Buffer.alloc(2_000_000))]);
    const stated = await own.send(PUBLIC, { body: large, headers: { 'content-type': FORM_TYPE } });
    assert.deepEqual([stated.status, stated.json.error.code], [413, 'request_too_large']);
    assert.deepEqual(own.upstream.requests(), []);
    using client = await RawClient.connect(own.url);
    client.write(headOf('POST', PUBLIC, { 'content-type': FORM_TYPE, 'transfer-encoding': 'chunked' }));
    client.write(Buffer.concat([Buffer.from(`${large.length.toString(16)}\r\n`), large, Buffer.from('\r\n0\r\n\r\n')]));
    const { status, json } = await client.answer();
    assert.deepEqual([status, json.error.code], [413, 'request_too_large']);
    assert.equal(own.count('bodies_too_large'), 2);
  });
});

test('[Q23] [LI3] limits.upload_bytes counts only the file: that size passes with any fields, and one byte more is refused', async () => {
  await using own = await startGateway({
    config: (draft) => {
      draft.limits = { upload_bytes: 1_000_000 };
    },
  });
  const fields = [model, field('prompt', 'a'.repeat(60_000))];
  for (const encode of [(form: Buffer) => form, gzipSync]) {
    const coding: Record<string, string> = encode === gzipSync ? { 'content-encoding': 'gzip' } : {};
    const send = (size: number) => {
      const body = encode(formOf([...fields, file(randomBytes(size))]));
      return own.send(PUBLIC, { body, headers: { 'content-type': FORM_TYPE, ...coding } });
    };
    const { status, text } = await send(1_000_000);
    assert.equal(status, 200, text);
    const larger = await send(1_000_001);
    assert.deepEqual([larger.status, larger.json.error.code], [413, 'request_too_large']);
  }
});

describe('failures of the account', () => {
  test('[Q6] an account that cannot be reached has not received the upload: another one gets it whole', async () => {
    await gate.upstream.hangUp('north');
    const { parts, bytes } = await sent([model, file(Buffer.alloc(300_000, 'v'))]);
    await gate.upstream.pickUp('north');
    assert.deepEqual(parts, [MODEL, FILE]);
    assert.equal(bytes?.length, 300_000);
    assert.deepEqual(
      gate.upstream.requests().map(({ account }) => account),
      ['south'],
    );
    const [row] = (await gate.rows()).slice(-1);
    assert.deepEqual([row?.retries, row?.account], [1, 'SOUTH']);
  });

  test('[Q6] once bytes of it were sent, no other account gets it', async () => {
    gate.upstream.nextOn('north', NATIVE, 'refuse 503');
    const { status, json } = await transcribe(gate, PUBLIC, [model, file()]);
    assert.deepEqual([status, json.error.code], [502, 'upstream_error']);
    gate.upstream.nextOn('north', NATIVE, 'reset before headers');
    assert.equal((await transcribe(gate, PUBLIC, [model, file()])).status, 502);
    assert.deepEqual(gate.upstream.requests('south'), []);
  });

  test('[Q3] its refusal of the request is the client’s answer', async () => {
    gate.upstream.nextOn('north', NATIVE, 'refuse 422 invalid_value');
    const reply = await transcribe(gate, PUBLIC, [model, file()]);
    assert.deepEqual([reply.status, reply.json.error.code], [422, 'invalid_value']);
  });

  test('an account that answers before it has read the upload ends it', async () => {
    await using taker = await startTaker((request, response) => {
      request.resume();
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"no","code":"invalid_value"}}');
    });
    const { status, json } = await transcribe(taker.gate, PUBLIC, [model, file(Buffer.alloc(3_000_000))]);
    assert.deepEqual([status, json.error.code], [400, 'invalid_value']);
    assert.equal(taker.asked(), 1);
  });

  test('an account that dies at any point of the upload is an upstream error, and the client gets that error', async () => {
    const total = formOf([model, file(Buffer.alloc(400_000))]).length;
    for (const bytes of [0, 1, 200, total / 2, total - 300]) {
      await using taker = await startTaker((request) => {
        let read = 0;
        if (bytes === 0) request.socket.resetAndDestroy();
        request.on('data', (chunk: Buffer) => {
          read += chunk.length;
          if (read >= bytes) request.socket.resetAndDestroy();
        });
      });
      const { status, json } = await transcribe(taker.gate, PUBLIC, [model, file(Buffer.alloc(400_000))]);
      assert.deepEqual([status, json.error.code], [502, 'upstream_error'], `after ${bytes} bytes`);
      assert.equal(taker.asked(), 1, 'and it is not sent again');
    }
  });
});

describe('an upload that streams', () => {
  test('[C3] [Q23] at most 1 MiB of it is held while the account reads nothing, and it ends whole', async () => {
    const { promise: reads, resolve: read } = Promise.withResolvers<void>();
    let received = 0;
    await using taker = await startTaker((request, response) => {
      void reads.then(() => {
        request.on('data', (chunk: Buffer) => {
          received += chunk.length;
        });
        request.on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{"text":"done"}'));
      });
    });
    const form = formOf([model, file(Buffer.alloc(48_000_000, 'v'))]);
    const client = httpRequest(taker.gate.url + PUBLIC, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': FORM_TYPE, 'content-length': form.length },
    });
    const answered = new Promise<number>((resolve, reject) => {
      client.on('response', (response) => resolve(response.resume().statusCode ?? 0)).on('error', reject);
    });
    for (let at = 0; at < form.length; at += 65_536) client.write(form.subarray(at, at + 65_536));
    client.end();
    const gauge = async (name: string): Promise<number> => {
      const metrics = await taker.gate.metrics();
      return Number(new RegExp(`^poolgate_${name} (\\d+)$`, 'm').exec(metrics)?.[1]);
    };
    let held = 0;
    await until('the upload to stop', async () => {
      const before = held;
      held = await gauge('upload_bytes_held');
      return taker.asked() === 1 && held > 0 && held === before ? true : undefined;
    });
    assert.equal(received, 0);
    read();
    assert.equal(await answered, 200);
    assert.ok(received > 48_000_000);
    const most = await gauge('upload_bytes_held_max');
    assert.ok(most > 0 && most <= 1_048_576, `${most} bytes were held`);
    assert.equal(await gauge('upload_bytes_held'), 0, 'and nothing is held any more');
  });

  test('a client that leaves, or falls silent, at any boundary of the parts ends the request to the account', async () => {
    const parts = [model, field('prompt', 'p'), file(Buffer.alloc(200_000, 'a')), field('language', 'de')];
    const whole = formOf(parts);
    const boundaries: number[] = [];
    for (let at = whole.indexOf(`--${BOUNDARY}`); at !== -1; at = whole.indexOf(`--${BOUNDARY}`, at + 1))
      boundaries.push(at, at + 3, at + BOUNDARY.length + 4);
    const ways = ['destroy', 'end', 'silent'] as const;
    const next = byTurns(ways);
    const waysAt = boundaries.filter((place) => place < whole.length - 4).map((at) => ({ at, own: next() }));
    for (const how of ways) {
      let open = 0;
      await using taker = await startTaker(
        (request) => {
          open += 1;
          request.resume().once('close', () => {
            open -= 1;
          });
        },
        (draft) => {
          if (how === 'silent') draft.timeouts.client_body_idle_ms = 60;
        },
      );
      for (const { at, own } of waysAt) {
        if (!own.includes(how)) continue;
        const rows = (await taker.gate.rows()).length;
        using client = await RawClient.connect(taker.gate.url);
        client.write(headOf('POST', PUBLIC, { 'content-type': FORM_TYPE, 'content-length': whole.length }));
        await new Promise<void>((resolve) => void client.socket.write(whole.subarray(0, at), () => resolve()));
        if (how === 'destroy') client.socket.resetAndDestroy();
        else if (how === 'end') client.socket.end();
        else {
          const { status, json } = await client.answer();
          assert.deepEqual([status, json.error.code], [408, 'request_timeout'], `at ${at}`);
        }
        const row = await until('the row', async () => (await taker.gate.rows())[rows]);
        assert.ok((how === 'silent' ? [408] : [400, 499]).includes(row.status), `${how}: ${row.status}`);
      }
      await until('the requests to end', () => (open === 0 ? true : undefined));
      assert.equal(taker.gate.account('north').status, 'active');
      assert.equal(taker.gate.account('north').inFlight, 0);
      const metrics = await taker.gate.metrics();
      assert.match(metrics, /^poolgate_upload_bytes_held 0$/m);
    }
  });

  test('[Q4] a client that waits for 100 Continue gets it after the checks of its headers', async () => {
    using client = await RawClient.connect(gate.url);
    const whole = formOf([model, file()]);
    const headers = { 'content-type': FORM_TYPE, 'content-length': whole.length, expect: '100-continue' };
    client.write(headOf('POST', PUBLIC, headers));
    assert.equal((await client.answer()).status, 100);
    client.write(whole);
    assert.equal((await client.answer()).status, 200);
    using refused = await RawClient.connect(gate.url);
    refused.write(headOf('POST', PUBLIC, { ...headers, 'content-length': 200_000_000 }));
    assert.equal((await refused.answer()).status, 413);
  });
});
