// Hostile texts in every place of a conversation never reach the file of a recording.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import WebSocket, { WebSocketServer } from 'ws';
import { Redactor } from '../../proxy/recording/redactor.ts';
import { startAccount, startRecorder } from './recorder.ts';

/** The prefix of each marker. */
const MARK = 'zqmarker';
let marks = 0;
const mark = (): string => `${MARK}${++marks}`;

/** Searches the file in all encodings in which a text could be hidden. */
function assertClean(text: string): void {
  assert.ok(!text.toLowerCase().includes(MARK), text.slice(Math.max(0, text.indexOf(MARK) - 200), text.indexOf(MARK) + 50));
  assert.ok(!text.includes(Buffer.from(MARK).toString('base64').slice(0, 8)));
  assert.ok(!text.includes(Buffer.from(MARK).toString('hex')));
}

/** A request with a marker in each place that a client fills. */
const hostileBody = () => ({
  model: mark(),
  instructions: mark(),
  previous_response_id: `resp_${mark()}`,
  prompt_cache_key: mark(),
  [mark()]: mark(),
  metadata: { [mark()]: mark(), nested: { deep: [mark(), 4_242_424_242, { [mark()]: true }] } },
  reasoning: { effort: mark(), summary: mark() },
  tool_choice: { type: 'function', name: mark() },
  tools: [
    {
      type: 'function',
      name: mark(),
      description: mark(),
      parameters: {
        type: 'object',
        properties: { [mark()]: { type: 'string', enum: [mark()], default: mark(), pattern: mark() } },
        required: [mark()],
      },
    },
    { type: 'custom', name: mark(), format: { type: 'grammar', syntax: mark(), definition: mark() } },
    { type: mark(), server_url: `https://${mark()}.example/${mark()}`, headers: { authorization: mark() } },
  ],
  input: [
    { type: 'message', role: mark(), id: `msg_${mark()}`, content: [{ type: 'input_text', text: mark() }, mark()] },
    { type: 'message', role: 'user', content: `${mark()} ${mark()}` },
    {
      type: 'message',
      role: 'user',
      content: [{ type: 'input_image', image_url: `data:image/${mark()};base64,${mark()}`, detail: mark() }],
    },
    {
      type: 'message',
      role: 'user',
      content: [{ type: 'input_file', filename: `${mark()}.pdf`, file_url: `https://example.com/${mark()}?q=${mark()}` }],
    },
    { type: 'function_call', call_id: `call_${mark()}`, name: mark(), arguments: JSON.stringify({ [mark()]: mark() }) },
    { type: 'function_call_output', call_id: mark(), output: `{"path":"/home/${mark()}"}` },
    { type: 'reasoning', encrypted_content: mark(), summary: [{ type: 'summary_text', text: mark() }] },
    { type: 'local_shell_call', action: { type: 'exec', command: ['cat', mark()], env: { [mark()]: mark() }, working_directory: mark() } },
    mark(),
  ],
  client_metadata: { session_id: mark(), turn_id: mark(), 'x-codex-turn-metadata': JSON.stringify({ a: mark() }), [mark()]: mark() },
  text: { format: { type: 'json_schema', name: mark(), schema: { $ref: mark(), $defs: { [mark()]: { const: mark() } } } } },
});

const hostileEvent = () => ({
  type: 'response.completed',
  response: {
    id: `resp_${mark()}`,
    status: mark(),
    error: { code: mark(), message: `The '${mark()}' model is not supported when using Codex with a ChatGPT account.`, param: mark() },
    output: [{ type: 'message', content: [{ type: 'output_text', text: mark(), annotations: [{ url: `https://${mark()}.example` }] }] }],
    usage: { input_tokens: 12, [mark()]: 3 },
    [mark()]: [mark()],
  },
});

async function record(
  context: TestContext,
  answer: { readonly headers?: Record<string, string>; readonly chunks: readonly (string | Buffer)[]; readonly status?: number },
  request: { readonly path?: string; readonly headers?: Record<string, string>; readonly body?: string | Buffer },
) {
  const account = await startAccount(context, async (incoming, response) => {
    for await (const _ of incoming);
    response.writeHead(answer.status ?? 200, answer.headers ?? {});
    for (const chunk of answer.chunks) {
      response.write(chunk);
      if (answer.chunks.length > 1) await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  });
  const recorder = await startRecorder(context, account.url);
  const got = await fetch(recorder.url + (request.path ?? '/backend-api/codex/responses'), {
    method: 'POST',
    headers: request.headers ?? {},
    body: request.body ?? '{}',
  });
  // A client that cannot decode an answer drops it.
  const bytes = Buffer.from(await got.arrayBuffer().catch(() => new ArrayBuffer(0)));
  const { text, exchanges } = await recorder.finish();
  assertClean(text);
  const exchange = exchanges[0] ?? assert.fail('nothing was recorded');
  return { exchange, bytes, text };
}

test('markers in the members, names and values of a JSON request and answer', async (context) => {
  const { exchange } = await record(
    context,
    { headers: { 'content-type': 'application/json' }, chunks: [JSON.stringify(hostileEvent())] },
    { headers: { 'content-type': 'application/json' }, body: JSON.stringify(hostileBody()) },
  );
  const { json } = exchange.request.body ?? {};
  assert.ok(json !== null && typeof json === 'object' && 'tools' in json, 'the structure is kept');
  const answer = exchange.answer?.body?.json;
  assert.ok(JSON.stringify(answer).includes('"input_tokens":12'));
  assert.ok(JSON.stringify(answer).includes('model is not supported when using Codex'), 'a known sentence is kept, without the name in it');
});

test('markers in headers, cookies, paths and queries', async (context) => {
  const names = [
    'authorization',
    'cookie',
    'x-codex-window-id',
    'session-id',
    'user-agent',
    'originator',
    'x-codex-turn-state',
    'accept',
    'openai-beta',
    'version',
  ];
  const headers = Object.fromEntries([...names, 'x-account-id'].map((name) => [name, mark()]));
  const { exchange } = await record(
    context,
    {
      headers: {
        'set-cookie': mark(),
        location: `https://${mark()}`,
        'x-codex-plan-type': mark(),
        'retry-after': mark(),
        'content-type': mark(),
      },
      chunks: ['x'],
    },
    { path: `/backend-api/${mark()}/responses/${mark()}?${mark()}=${mark()}&client_version=${mark()}`, headers },
  );
  assert.deepEqual(
    names.filter((name) => !exchange.request.headers.some(([kept]) => kept.toLowerCase() === name)),
    [],
    'the names of headers are kept',
  );
});

test('markers in an event stream that is split at every byte', async (context) => {
  const stream = Buffer.from(
    `event: ${mark()}\ndata: ${JSON.stringify(hostileEvent())}\n\n: ${mark()}\n\ndata: ${mark()}\r\n\r\nid: ${mark()}\nretry: ${mark()}\ndata: {"type":"response.output_text.delta",\ndata: "delta":"${mark()}"}\n\ndata: [DONE]\n\ndata: ${mark()}`,
  );
  const chunks = [...stream].map((byte) => Buffer.from([byte]));
  for (const type of ['text/event-stream', undefined]) {
    const { exchange, bytes } = await record(context, { ...(type ? { headers: { 'content-type': type } } : {}), chunks }, {});
    assert.deepEqual(bytes, stream, 'the client gets the bytes as sent');
    const events = exchange.answer?.body?.events ?? assert.fail('events');
    assert.equal(events.filter(({ data }) => data === '[DONE]').length, 1);
    assert.ok(events.some(({ data }) => JSON.stringify(data ?? '').includes('"response.output_text.delta"')));
  }
});

for (const [encoding, compress] of Object.entries({
  gzip: gzipSync,
  br: brotliCompressSync,
  deflate: deflateSync,
  zstd: zstdCompressSync,
})) {
  test(`markers in bodies with the encoding ${encoding}, relayed as sent`, async (context) => {
    const body = compress(JSON.stringify(hostileBody()));
    const answer = compress(`data: ${JSON.stringify(hostileEvent())}\n\n`);
    const { exchange } = await record(
      context,
      { headers: { 'content-type': 'text/event-stream', 'content-encoding': encoding }, chunks: [answer] },
      { headers: { 'content-type': 'application/json', 'content-encoding': encoding }, body },
    );
    assert.equal(exchange.request.body?.encoding, encoding);
    assert.equal(exchange.request.body?.bytes, body.length);
    assert.equal(exchange.answer?.body?.events?.length, 1);
  });
}

test('markers in malformed JSON, bodies of other types, and bodies that do not decode', async (context) => {
  const json = { 'content-type': 'application/json' };
  const cases = [
    [json, `{"input":"${mark()}`, 'malformed'],
    [json, `${mark()}`, 'malformed'],
    [{ 'content-type': 'text/plain' }, mark(), 'other'],
    [{ 'content-type': 'application/sdp' }, mark(), 'other'],
    [{ ...json, 'content-encoding': 'zstd' }, mark(), 'undecodable'],
    [{ ...json, 'content-encoding': mark() }, mark(), 'undecodable'],
    [{ 'content-type': `multipart/form-data` }, mark(), 'malformed'],
  ] as const;
  for (const [headers, body, opaque] of cases) {
    const { exchange } = await record(context, { headers, chunks: [body] }, { headers, body });
    assert.equal(exchange.request.body?.opaque, opaque, body);
    assert.equal(exchange.request.body?.bytes, body.length);
  }
});

test('markers in a multipart form: names of fields and files, values, types', async (context) => {
  const form = new FormData();
  form.append('model', mark());
  form.append('prompt', mark());
  form.append(mark(), mark());
  form.append('file', new Blob([mark()], { type: `audio/${mark()}` }), `${mark()}.wav`);
  const encoded = new Response(form);
  const body = Buffer.from(await encoded.arrayBuffer());
  const headers = { 'content-type': encoded.headers.get('content-type') ?? '' };
  const { exchange } = await record(context, { chunks: ['{}'] }, { path: '/v1/audio/transcriptions', headers, body });
  const parts = exchange.request.body?.parts ?? assert.fail('parts');
  assert.equal(parts.length, 4);
  assert.ok(parts.some(({ name, bytes }) => name === 'file' && bytes > 0));
});

for (const compressed of [false, true]) {
  test(`markers in frames of a websocket${compressed ? ' with compression' : ''}: text, binary, reasons of a close`, async (context) => {
    const account = await startAccount(context, () => undefined);
    const server = new WebSocketServer({ server: account.server, perMessageDeflate: compressed ? { threshold: 0 } : false });
    context.after(() => server.close());
    server.on('connection', (socket) => {
      socket.on('message', () => {
        socket.ping(mark());
        socket.send(JSON.stringify(hostileEvent()));
        socket.send(mark());
        socket.send(Buffer.from(mark()));
        socket.close(1000, mark());
      });
    });
    const recorder = await startRecorder(context, account.url);
    const client = new WebSocket(`${recorder.url}/backend-api/codex/responses`, {
      headers: { authorization: `Bearer ${mark()}` },
      perMessageDeflate: compressed,
    });
    const received: string[] = [];
    client.on('message', (data) => received.push(String(data)));
    client.on('open', () => client.send(JSON.stringify({ type: 'response.create', ...hostileBody() })));
    await new Promise((resolve) => client.on('close', resolve));
    const { text, exchanges } = await recorder.finish();
    assertClean(text);
    assert.equal(received.length, 3);
    const frames = exchanges[0]?.frames ?? assert.fail('frames');
    assert.deepEqual(
      frames.map(({ from, json, text: other, binary, close }) => [from, json ? 'json' : other ? 'text' : binary ? 'binary' : close]),
      [
        ['client', 'json'],
        ['account', 'json'],
        ['account', 'text'],
        ['account', 'binary'],
        ['account', 1000],
        ['client', 1000],
      ],
    );
  });
}

test('a refused upgrade is recorded with its answer, and the client gets it', async (context) => {
  const account = await startAccount(context, () => undefined);
  account.server.on('upgrade', (_request, socket) => {
    const body = JSON.stringify({ detail: mark() });
    socket.end(
      `HTTP/1.1 426 Upgrade Required\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nX-Other: ${mark()}\r\n\r\n${body}`,
    );
  });
  const recorder = await startRecorder(context, account.url);
  const client = new WebSocket(`${recorder.url}/backend-api/codex/responses`);
  const status = await new Promise((resolve) => client.on('unexpected-response', (_request, response) => resolve(response.statusCode)));
  client.on('error', () => undefined);
  client.terminate();
  const { text, exchanges } = await recorder.finish();
  assertClean(text);
  assert.deepEqual([status, exchanges[0]?.request.method, exchanges[0]?.answer?.status], [426, 'WS', 426]);
});

test('equal ids stay equal, and different ids stay different', () => {
  const redactor = new Redactor({ now: () => 0 });
  const [a, b, again] = [redactor.id('resp_first'), redactor.id('resp_other'), redactor.id('resp_first')];
  assert.equal(a, again);
  assert.notEqual(a, b);
  assert.equal(redactor.id('01a1f7f6-9915-7cf1-8ca4-6e5e5ea3a177:3'), '<id:uuid:1:36>:3');
});

test('a member that the operator keeps has its name in the file, and its value is replaced', async (context) => {
  const account = await startAccount(context, (_request, response) =>
    response.setHeader('content-type', 'application/json').end('{"zq_novel":"zqmarker"}'),
  );
  const recorder = await startRecorder(context, account.url, ['zq_novel']);
  await (await fetch(`${recorder.url}/v1/models`)).text();
  const { text, exchanges } = await recorder.finish();
  assertClean(text);
  assert.deepEqual(exchanges[0]?.answer?.body?.json, { zq_novel: '<text:8>' });
});

test('values nested deeper than any request are replaced as a whole', () => {
  const deep = JSON.parse(`${'{"input":['.repeat(5_000)}"${MARK}"${']}'.repeat(5_000)}`);
  assertClean(JSON.stringify(new Redactor({ now: () => 0 }).json(deep)));
});
