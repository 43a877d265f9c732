// Each row of the table in docs/limits.md: its bound is exceeded at the running gateway, and its counter counts.
import assert from 'node:assert/strict';
import { hash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { WebSocket } from 'ws';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { requestRow } from '../../store/samples.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { BOUNDARY, FORM_TYPE, formOf } from '../../support/form.ts';
import { type Draft, KEY, startGateway, type TestGateway } from '../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, turnFrame, userMessage } from '../../support/native-frames.ts';
import { selfSigned } from '../../support/network/certificate.ts';
import { httpProxy, socksProxy } from '../../support/network/proxies.ts';
import { headOf, postOf, RawClient } from '../../support/network/raw.ts';
import { rawHead, rawResponse, startRawUpstream } from '../../support/network/raw-upstream.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { HandLoad } from '../../support/program/hand-load.ts';
import { replyEvents, turnBody } from '../../support/rehearsal-replies.ts';
import { file, model, PUBLIC as TRANSCRIPTIONS, transcribe } from '../../support/stages/audio.ts';
import { UPLOAD } from '../../support/stages/files.ts';
import { until } from '../../support/until.ts';
import { connect } from '../../support/websocket.ts';

const PATH = '/backend-api/agent/responses';
const PUBLIC = '/v1/responses';
const NATIVE = '/backend-api/agent/responses';
const TURN = turnBody('hello');
const RESPONDED = { model: 'model-a', input: 'hello' };
const json = { 'content-type': 'application/json' };

interface Row {
  readonly resource: string;
  readonly setting: string;
  readonly counter: string;
}

const cell = (text = ''): string => text.trim().replaceAll('`', '');

function rows(): readonly Row[] {
  const page = readFileSync(new URL('../../../docs/limits.md', import.meta.url), 'utf8');
  const section = page.slice(page.indexOf('\n## Limits\n'), page.indexOf('\n## Admission and overload\n'));
  const lines = section.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| Resource') && !line.startsWith('| ---'));
  return lines.map((line) => {
    const [, resource, setting, counter] = line.split('|');
    return { resource: cell(resource), setting: cell(setting), counter: cell(counter) };
  });
}

/** The parts that a test controls by hand. */
interface Hands {
  readonly clock: ManualClock;
  readonly load: HandLoad;
  /** Looks for connections without progress, as the gateway does every five seconds. */
  readonly sweep: () => void;
}

const SWEEP_MS = 5_000;

/** Stops the timers of sweeps. @returns a function that runs all sweeps */
function sweepsByHand(context: TestContext): () => void {
  const { setInterval } = globalThis;
  const sweeps: (() => void)[] = [];
  context.mock.method(globalThis, 'setInterval', (run: () => void, ms?: number) => {
    if (ms !== SWEEP_MS) return setInterval(run, ms);
    sweeps.push(run);
    return setInterval(() => undefined, SWEEP_MS);
  });
  return () => {
    for (const sweep of sweeps) sweep();
  };
}

/** A small value for the setting, and the traffic that exceeds it. */
interface Drive {
  /** The value of the row's setting; rows whose bound is fixed have none. */
  readonly value?: number;
  readonly more?: (draft: Draft) => void;
  /** Whether time advances only by hand. */
  readonly stopsClock?: true;
  /** Whether its clients speak TLS. */
  readonly isSecured?: true;
  readonly run: (gate: TestGateway, hands: Hands) => Promise<void>;
}

const statusOf = async (gate: TestGateway, bytes: string): Promise<number> => {
  using client = await RawClient.connect(gate.url);
  client.write(bytes);
  return (await client.answer()).status;
};

/** An account that answers each turn by hand; it is the only account of the gateway. */
const byHand =
  (answer: (socket: Socket) => void, run: (gate: TestGateway) => Promise<void>) =>
  async (gate: TestGateway): Promise<void> => {
    await using rawUpstream = await startRawUpstream(answer);
    await gate.reconfigure(rawUpstream.as('north'));
    await run(gate);
  };

/** Starts a turn that runs until its account is released. */
const stalled = async (gate: TestGateway): Promise<{ readonly ended: Promise<unknown> }> => {
  gate.upstream.next('north', 'stall before headers');
  const ended = gate.send(PATH, { body: TURN });
  await gate.upstream.stalled('north');
  return { ended };
};

/** Opens a client websocket over which the test sends frames that no normal client sends. */
async function rawSocket(gate: TestGateway): Promise<{ readonly socket: WebSocket; readonly closed: Promise<number> }> {
  const socket = new WebSocket(gate.url.replace('http', 'ws') + NATIVE_SOCKET, { headers: { authorization: `Bearer ${KEY}` } });
  const closed = once(
    socket.on('error', () => undefined),
    'close',
  ).then(([code]) => code as number);
  await once(socket, 'open');
  return { socket, closed };
}

const STREAM = rawHead(200, { 'content-type': 'text/event-stream' });
const DELTA = 'data: {"type":"response.output_text.delta","sequence_number":0,"delta":"a"}\n\n';
const item = (bytes: number): string =>
  `data: ${JSON.stringify({ type: 'response.output_item.done', item: { type: 'message', id: 'x'.repeat(bytes) } })}\n\n`;

const compressed = (bytes: Buffer): string =>
  headOf('POST', PATH, { ...json, 'content-encoding': 'gzip', 'content-length': bytes.length }) + bytes.toString('latin1');

async function tooCompressed(gate: TestGateway, body: object): Promise<void> {
  const bytes = gzipSync(JSON.stringify(body));
  using client = await RawClient.connect(gate.url);
  client.write(Buffer.from(compressed(bytes), 'latin1'));
  assert.equal((await client.answer()).status, 413);
}

const breaksOff = async (gate: TestGateway): Promise<void> => {
  const { text } = await gate.send(PUBLIC, { body: { model: 'model-a', input: 'hello', stream: true } });
  assert.equal(eventsOf(text).at(-1)?.data.error.code, 'server_error');
};

const waits: Drive['run'] = async (gate) => {
  const first = await stalled(gate);
  const second = gate.send(PATH, { body: TURN });
  await until('a turn to wait', () => (gate.count('admission_waits') + gate.count('account_waits') > 0 ? true : undefined));
  gate.upstream.release();
  await Promise.all([first.ended, second]);
};

/** One turn may run; a second one is refused, at once or after a wait. */
const REFUSED: Drive = {
  more: (draft) => {
    draft.admission.stream.running = 1;
  },
  run: async (gate) => {
    const first = await stalled(gate);
    assert.equal((await gate.send(PATH, { body: TURN })).status, 503);
    gate.upstream.release();
    await first.ended;
  },
};

/** Starts a turn of a native client that continues after its websocket was lost. */
async function detach(gate: TestGateway, events: readonly JsonObject[]): Promise<void> {
  gate.upstream.next('north', [replyEvents(events), { kind: 'stall', at: { events: 1 } }]);
  const socket = await connect(gate, NATIVE_SOCKET, { headers: { 'x-agent-window-id': 'thread-1:0' } });
  socket.send(turnFrame('t1', [userMessage('hello')]));
  await gate.upstream.stalled('north');
  await until('the frames so far', () => (socket.frames.length > 0 ? true : undefined));
  socket.terminate();
  await until('the turn without its client', () => (gate.count('turns_detached') > 0 ? true : undefined));
}

const delta = (text: string): JsonObject => ({ type: 'response.output_text.delta', delta: text });
const COMPLETED = { type: 'response.completed', response: { id: 'resp_1', status: 'completed', output: [] } };

/** The process is short of a resource while a turn runs, so further turns are refused. */
const short =
  (fields: Partial<HandLoad>): Drive['run'] =>
  async (gate, { clock, load }) => {
    const first = await stalled(gate);
    Object.assign(load, fields);
    // Turns take the samples; the event loop counts as late after two samples.
    const statuses: number[] = [];
    for (let turns = 0; turns < 3; turns++) {
      await clock.advance(1_000);
      statuses.push((await gate.send(PATH, { body: '{' })).status);
    }
    assert.equal(statuses.at(-1), 503);
    Object.assign(load, new HandLoad());
    gate.upstream.release();
    await first.ended;
  };

/** The body of this route is passed on. */
const ANALYTICS = '/backend-api/agent/analytics-events/events';
const FILE_HEAD = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n`;
const formOfParts = (count: number): Buffer => formOf(Array.from({ length: count }, (_, i) => ({ name: `f${i}`, value: 'a' })));

const DRIVES: Readonly<Record<string, Drive>> = {
  'connections of clients': {
    value: 1,
    run: async (gate) => {
      using _first = await RawClient.connect(gate.url);
      using second = await RawClient.connect(gate.url);
      assert.equal(await second.ended(), '');
    },
  },
  'request line and headers': {
    value: 4_096,
    run: async (gate) => assert.equal(await statusOf(gate, headOf('GET', '/v1/models', { 'x-a': 'a'.repeat(5_000) })), 431),
  },
  'number of headers': {
    value: 32,
    run: async (gate) => {
      const many = Object.fromEntries(Array.from({ length: 31 }, (_, i) => [`x-${i}`, '']));
      assert.equal(await statusOf(gate, headOf('GET', '/v1/models', many)), 431);
    },
  },
  'time to send headers': { value: 50, run: async (gate) => assert.equal(await statusOf(gate, 'GET /v1/models HTTP/1.1\r\n'), 408) },
  'time of a TLS handshake of a client': {
    value: 1_000,
    isSecured: true,
    run: async (gate) => {
      using silent = await RawClient.connect(gate.url);
      assert.equal(await silent.ended(), '');
      await until('the counter', () => gate.count('tls_handshakes_failed') || undefined);
    },
  },
  'body of a request': {
    value: 1_000,
    run: async (gate) => assert.equal((await gate.send(PATH, { body: { ...TURN, padding: 'x'.repeat(1_000) } })).status, 413),
  },
  'compressed body': { value: 1_000, run: (gate) => tooCompressed(gate, { ...TURN, padding: randomBytes(4_000).toString('hex') }) },
  'expansion of a compressed body': { value: 10, run: (gate) => tooCompressed(gate, { ...TURN, padding: 'x'.repeat(200_000) }) },
  'pieces of a body that are smaller than 64 bytes, such as chunks': {
    value: 4_096,
    more: (draft) => {
      draft.routes = [
        { POST: PATH, status: 'supported', serve: 'responses', class: 'stream' },
        { POST: TRANSCRIPTIONS, status: 'translated', serve: 'public-transcription', to: '/backend-api/transcribe', class: 'audio' },
        { POST: ANALYTICS, status: 'supported', serve: 'forward', class: 'control' },
        { GET: '/v1/models', status: 'supported', serve: 'models' },
      ];
    },
    run: async (gate) => {
      for (const [path, type, begin] of [
        [PATH, 'application/json', '{"a":"'],
        [TRANSCRIPTIONS, FORM_TYPE, FILE_HEAD],
        [ANALYTICS, 'application/json', ''],
      ] as const) {
        const chunks = [...begin, ...'a'.repeat(5_000)].map((letter) => `1\r\n${letter}\r\n`);
        assert.equal(
          await statusOf(gate, headOf('POST', path, { 'content-type': type, 'transfer-encoding': 'chunked' }) + chunks.join('')),
          413,
        );
      }
      assert.equal(gate.count('body_pieces_refused'), 3);
    },
  },
  'nesting of a JSON body': {
    run: async (gate) => {
      const body = `{"model":"model-a","input":${'['.repeat(129)}${']'.repeat(129)}}`;
      assert.equal((await gate.send(PATH, { body })).status, 400);
    },
  },
  'values of a JSON body, at any depth; a list or an object counts as four': {
    value: 3,
    run: async (gate) => {
      assert.equal((await gate.send(PATH, { body: '{"model":"model-a","input":[0,0,0]}' })).status, 413);
    },
  },
  'memory of the JSON of running turns beyond 8 times its bytes, such as that of {},{},; half of it for one key': {
    value: 1_000_000,
    run: async (gate) => {
      assert.equal((await gate.send(PATH, { body: `{"model":"model-a","input":[${'{},'.repeat(30_000)}{}]}` })).status, 503);
    },
  },
  'parts of a form that is held': {
    run: async (gate) => {
      const headers = { 'content-type': FORM_TYPE };
      assert.equal((await gate.send('/v1/files', { body: formOfParts(129), headers })).status, 413);
    },
  },
  'input audio of a turn': {
    value: 100,
    run: async (gate) => {
      const audio = { type: 'input_audio', input_audio: { format: 'wav', data: Buffer.alloc(200).toString('base64') } };
      const body = { model: 'model-a', input: [{ role: 'user', content: [audio] }] };
      assert.equal((await gate.send(PUBLIC, { body })).status, 400);
    },
  },
  'file that is uploaded on /v1/files': {
    value: 5,
    run: async (gate) => {
      assert.equal((await gate.send('/v1/files', { body: formOf(UPLOAD), headers: { 'content-type': FORM_TYPE } })).status, 413);
    },
  },
  'audio of a transcription': {
    value: 5,
    run: async (gate) => assert.equal((await transcribe(gate, TRANSCRIPTIONS, [model, file()])).status, 413),
  },
  'silence inside a body': {
    value: 50,
    run: async (gate) => assert.equal(await statusOf(gate, `${headOf('POST', PATH, { ...json, 'content-length': 100 })}{`), 408),
  },
  'time of a whole body': {
    value: 50,
    run: async (gate) => assert.equal(await statusOf(gate, `${headOf('POST', PATH, { ...json, 'content-length': 100 })}{`), 408),
  },
  'client that does not read its answer': {
    value: 1,
    run: async (gate, { sweep }) => {
      gate.upstream.next('north', replyEvents([{ type: 'response.output_text.delta', delta: 'x'.repeat(8 << 20) }]));
      using client = await RawClient.connect(gate.url);
      client.socket.pause();
      client.write(postOf(PATH, TURN));
      await until('the end of the connection', () => {
        sweep();
        return gate.count('clients_stalled') > 0 || undefined;
      });
    },
  },
  'bodies of all requests that are being read': {
    value: 1_000,
    run: async (gate) => assert.equal((await gate.send(PATH, { body: { ...TURN, padding: 'x'.repeat(2_000) } })).status, 503),
  },
  'bodies of one key that are being read, if they leave no room for a key with fewer bytes': {
    value: 10_000,
    more: (draft) => draft.keys.push({ id: 'second', pool: 'team', secret_sha256: [hash('sha256', 'second', 'hex')] }),
    run: async (gate) => {
      using large = await RawClient.connect(gate.url);
      large.write(`${headOf('POST', PATH, { ...json, 'content-length': 9_500 })}${' '.repeat(9_400)}`);
      await until('the bytes are held', () => gate.bodyBytes >= 9_400 || undefined);
      const body = { ...TURN, input: [userMessage('x'.repeat(2_000))] };
      assert.equal((await gate.send(PATH, { body, headers: { authorization: 'Bearer second' } })).status, 200);
      assert.equal((await large.answer()).status, 503);
    },
  },
  'delay of the event loop': { value: 100, stopsClock: true, run: short({ delay: 1_000 }) },
  'memory of the process': { value: 50, stopsClock: true, run: short({ memory: 95 }) },
  'running turns of a class': { value: 1, run: waits },
  'waiting turns of a class': {
    value: 0,
    ...REFUSED,
  },
  'wait of a turn': {
    value: 20,
    ...REFUSED,
  },
  'running turns of an account': { value: 1, run: waits },
  'time of a connection to an account, with its TLS handshake': {
    value: 100,
    run: (gate) => withSilentServer((port) => connectsLate(gate, { base_url: `https://127.0.0.1:${port}` })),
  },
  'time of a tunnel through the proxy of an account': {
    value: 100,
    run: async (gate) => {
      for (const [scheme, start] of [
        ['http', httpProxy],
        ['socks5', socksProxy],
      ] as const) {
        await using proxy = await start({ isSilent: true });
        await connectsLate(gate, { proxy: { url: `${scheme}://127.0.0.1:${proxy.port}` } });
      }
    },
  },
  'time of a TLS handshake inside such a tunnel': {
    value: 100,
    run: async (gate) => {
      await using proxy = await httpProxy();
      const url = `http://127.0.0.1:${proxy.port}`;
      await withSilentServer((port) => connectsLate(gate, { base_url: `https://127.0.0.1:${port}`, proxy: { url } }));
      assert.ok(proxy.opened.length > 0);
    },
  },
  'time to the first byte of a reply': {
    value: 100,
    run: async (gate) => {
      gate.upstream.next('north', 'stall before headers');
      assert.equal((await gate.send(PATH, { body: TURN })).status, 504);
    },
  },
  'time in which the head of a reply is held': {
    value: 50,
    run: byHand(
      (socket) => void socket.write(STREAM),
      async (gate) => {
        using client = await RawClient.connect(gate.url);
        client.write(postOf(PATH, TURN));
        await client.until(() => client.pending.startsWith('HTTP/1.1 200'), 'the head');
      },
    ),
  },
  'silence inside a reply': { value: 100, run: byHand((socket) => void socket.write(STREAM + DELTA), breaksOff) },
  "time for the body of a provider's refusal": {
    value: 100,
    run: byHand(
      (socket) => {
        // The answer never pauses for long, and never ends.
        socket.write(`${rawHead(503, { 'content-length': 1_000_000 })}{`);
        const drip = setInterval(() => socket.write(' '), 20);
        socket.once('close', () => clearInterval(drip));
      },
      async (gate) => assert.equal((await gate.send(PATH, { body: TURN })).status, 503),
    ),
  },
  'memory for the reply of a turn': {
    value: 100_000,
    run: byHand((socket) => void socket.write(STREAM + DELTA + item(200_000)), breaksOff),
  },
  'memory for the replies of all turns': {
    value: 100_000,
    run: byHand((socket) => void socket.write(STREAM + DELTA + item(200_000)), breaksOff),
  },
  'frame of a websocket': {
    value: 1_000,
    run: async (gate) => {
      using socket = await connect(gate, NATIVE_SOCKET);
      socket.send('x'.repeat(2_000));
      assert.equal((await socket.closed).code, 1009);
    },
  },
  'fragments of a message on a websocket': {
    value: 3,
    run: async (gate) => {
      const { socket, closed } = await rawSocket(gate);
      for (let i = 0; i < 4; i++) socket.send('x', { fin: false });
      assert.equal(await closed, 1008);
    },
  },
  'pings and pongs of a websocket in a minute': {
    value: 60,
    run: async (gate) => {
      const { socket, closed } = await rawSocket(gate);
      for (let i = 0; i < 61; i++) socket.pong();
      assert.equal(await closed, 1008);
    },
  },
  'time of a message on a websocket': {
    value: 50,
    run: async (gate) => {
      const { socket, closed } = await rawSocket(gate);
      socket.send('x', { fin: false });
      assert.equal(await closed, 1008);
    },
  },
  'idle websocket': {
    value: 60_000,
    stopsClock: true,
    run: async (gate, { clock }) => {
      using socket = await connect(gate, NATIVE_SOCKET);
      await clock.advance(60_000);
      assert.equal((await socket.closed).code, 1001);
    },
  },
  'frames that wait for a running turn of a websocket': {
    run: async (gate) => {
      gate.upstream.next('north', 'stall before headers');
      using socket = await connect(gate, NATIVE_SOCKET);
      for (let i = 0; i < 10; i++) socket.send({ type: 'response.create', ...frameOf(`turn ${i}`) });
      assert.equal((await socket.next()).status, 429);
    },
  },
  'frames kept for a client that lost its websocket': {
    value: 2_000,
    run: async (gate) => {
      await detach(gate, [delta('a'), delta('x'.repeat(3_000)), COMPLETED]);
      gate.upstream.release('north');
      await until('the end of the turn', async () => (await gate.rows())[0]);
    },
  },
  'history of a websocket that an API account serves over HTTP': { value: 10, more: withApiAccount, run: prewarm },
  'histories of all such websockets': { value: 10, more: withApiAccount, run: prewarm },
  'time in which a client may come back for its turn': {
    value: 100,
    run: async (gate) => {
      await detach(gate, [delta('a'), delta('b'), COMPLETED]);
      await until('the end of the turn', async () => (await gate.rows())[0]);
    },
  },
  'pins in memory (the account of a session, response or conversation)': {
    value: 1,
    run: async (gate) => {
      const stored = turnBody('hello', { stream: false, store: true });
      const [first] = [await gate.send(NATIVE, { body: stored }), await gate.send(NATIVE, { body: stored })];
      const anchored = async (): Promise<true | undefined> => {
        const { status } = await gate.send(NATIVE, { body: { ...stored, previous_response_id: first?.json.id } });
        return status === 200 || undefined;
      };
      await until('the response whose account the store has', anchored);
    },
  },
  'rows of refused requests without a key, per second': {
    value: 1,
    stopsClock: true,
    run: async (gate, { clock }) => {
      for (let n = 0; n < 14; n++)
        assert.equal((await gate.send(PATH, { body: TURN, headers: { authorization: 'Bearer none' } })).status, 401);
      assert.equal((await gate.rows()).length, 10, 'a burst');
      assert.equal(gate.count('requests_unlogged'), 4);
      await clock.advance(10_000);
      const reported = gate.logged.map((line) => JSON.parse(line)).filter(({ event }) => event === 'requests_not_logged');
      assert.deepEqual(
        reported.map(({ requests, endpoint, code }) => [requests, endpoint, code]),
        [[4, PATH, 'invalid_api_key']],
      );
      assert.equal((await gate.send(PATH, { body: TURN })).status, 200);
      assert.equal((await gate.rows()).length, 11, 'a turn with a key has its row');
    },
  },
  'size of the request log on disk': {
    value: 1_048_576,
    stopsClock: true,
    run: async (gate, { clock }) => {
      await gate.leave({ requests: Array.from({ length: 6_000 }, (_, n) => requestRow({ id: `req_${10_000 + n}`, at: clock.now() + n })) });
      await clock.advance(60_000);
      await until('the deletion of the oldest rows', () => gate.count('requests_trimmed') || undefined);
      assert.equal(await gate.row('req_10000'), undefined);
      assert.ok(await gate.row('req_15999'));
    },
  },
  'rows that wait to be written': {
    value: 1,
    run: async (gate) => {
      const turns = await Promise.all(Array.from({ length: 20 }, () => gate.send(PUBLIC, { body: RESPONDED })));
      assert.deepEqual(
        turns.map(({ status }) => status),
        turns.map(() => 200),
      );
      assert.equal((await gate.send('/v1/usage')).json.request_count, turns.length);
    },
  },
  'body of a request of the admin API': {
    value: 1024,
    async run({ adminUrl }) {
      const response = await fetch(`${adminUrl}/api/keys`, {
        method: 'POST',
        headers: { 'x-poolgate-command': '1' },
        body: JSON.stringify({ id: 'x'.repeat(1024) }),
      });
      assert.equal(response.status, 413);
    },
  },
  'open pages of the console': {
    value: 3,
    async run({ adminUrl }) {
      const abort = new AbortController();
      const open = () => fetch(`${adminUrl}/api/events`, { signal: abort.signal });
      const pages = await Promise.all(Array.from({ length: 3 }, open));
      assert.deepEqual([...new Set(pages.map(({ status }) => status))], [200]);
      const further = await open();
      assert.equal(further.status, 503);
      assert.match(await further.text(), /too many pages are connected/);
      abort.abort();
      // The place of a closed page becomes free.
      await until('a place', async () => {
        const { status, body } = await fetch(`${adminUrl}/api/events`);
        await body?.cancel();
        return status === 200 || undefined;
      });
    },
  },
  'open logins of accounts in the console': {
    value: 1,
    more: withLogins,
    async run(gate) {
      const begin = (id: string) =>
        fetch(`${gate.adminUrl}/api/accounts/${id}/logins`, {
          method: 'POST',
          headers: { 'x-poolgate-command': '1' },
          body: JSON.stringify({ way: 'link' }),
        });
      assert.equal((await begin('east')).status, 200);
      const refused = await begin('west');
      assert.equal(refused.status, 409);
      assert.match(await refused.text(), /limits\.logins/);
      // This login replaces the open login of the same account.
      assert.equal((await begin('east')).status, 200);
    },
  },
  'interim answers of an account (1xx) before its answer': {
    run: byHand(
      (socket) => void socket.end('HTTP/1.1 100 Continue\r\n\r\n'.repeat(17) + rawResponse(200, '{}')),
      async (gate) => assert.equal((await gate.send(PATH, { body: TURN })).status, 502),
    ),
  },
};

/** Accepts connections, and sends nothing on them. */
async function withSilentServer(run: (port: number) => Promise<void>): Promise<void> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket.on('error', () => undefined))).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await run((server.address() as AddressInfo).port);
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}

/** Sends a turn, a frame and a pass-through row, because each has its own carrier. */
async function connectsLate(gate: TestGateway, account: object): Promise<void> {
  await gate.reconfigure((draft) => Object.assign(draft.accounts[0], account));
  const before = gate.count('upstream_connect_timeouts');
  assert.equal((await gate.send(PATH, { body: TURN })).status, 504);
  gate.heal();
  assert.equal(
    (await gate.send('/backend-api/agent/images/generations', { body: { model: 'gpt-image-1', prompt: 'a tree' } })).status,
    504,
  );
  gate.heal();
  using socket = await connect(gate, NATIVE_SOCKET);
  assert.equal((await socket.turn(frameOf('hello'))).at(-1)?.status, 504);
  gate.heal();
  assert.equal(gate.count('upstream_connect_timeouts') - before, 3);
}

/** Adds an API account without a websocket; the test sends it no request. */
function withApiAccount(draft: Draft): void {
  draft.accounts.push({
    id: 'box',
    api: 'responses',
    base_url: 'http://127.0.0.1:9/v1',
    credential: 'none',
    read_models: false,
    models: { 'model-p': 'own-p' },
    catalog: [{ id: 'own-p', context_window: 100_000 }],
  });
  draft.pools[0].assignments.push({ account: 'box' });
}

/** Adds accounts that log in and belong to no Pool. */
function withLogins(draft: Draft): void {
  const url = draft.accounts[0].base_url;
  for (const id of ['east', 'west']) {
    const oauth = { token_url: `${url}/oauth/token`, authorize_url: `${url}/oauth/authorize`, client_id: 'client-1' };
    draft.accounts.push({ id, base_url: url, credential: { oauth } });
  }
}

/** Sends a frame that the gateway answers itself, and would keep. */
async function prewarm(gate: TestGateway): Promise<void> {
  using socket = await connect(gate, NATIVE_SOCKET);
  const frames = await socket.turn(frameOf('hi', { model: 'model-p', generate: false }));
  assert.equal(frames.at(-1)?.type, 'response.completed');
}

function certificateFiles(context: TestContext): { readonly cert: string; readonly key: string } {
  const folder = mkdtempSync(join(tmpdir(), 'poolgate-limits-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const { cert, key } = selfSigned({ host: 'localhost', from: new Date(Date.now() - 60_000), until: new Date(Date.now() + 3_600_000) });
  const paths = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  writeFileSync(paths.cert, cert);
  writeFileSync(paths.key, key, { mode: 0o600 });
  return paths;
}

/** Reads a list of models over TLS, and returns its status. */
async function securely(gate: TestGateway): Promise<number | undefined> {
  const headers = { authorization: `Bearer ${KEY}` };
  const asked = request(`${gate.url.replace('http:', 'https:')}/v1/models`, { headers, rejectUnauthorized: false, agent: false }).end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

function set(draft: Draft, setting: string, value: number): void {
  if (setting === 'accounts[].max_concurrent') {
    draft.accounts[0].max_concurrent = value;
    return;
  }
  const path = setting.split('.');
  const last = path.pop() as string;
  let at = draft;
  for (const name of path) {
    at[name] ??= {};
    at = at[name];
  }
  at[last] = value;
}

/** The sum of the lines of a counter in /metrics. @param counter its name, with or without a label */
async function counted(gate: TestGateway, counter: string): Promise<number> {
  const [, name = '', label = ''] = /^(\w+)(?:\{(.*)\})?$/.exec(counter) ?? [];
  const metrics = await gate.metrics();
  const lines = metrics.split('\n').filter((line) => new RegExp(`^poolgate_${name}_total[ {]`).test(line) && line.includes(label));
  assert.ok(lines.length > 0, `${counter} is in /metrics`);
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

test('the table has a row for each bound that is tested here, and no other', () => {
  assert.deepEqual(
    rows()
      .map(({ resource }) => resource)
      .sort(),
    Object.keys(DRIVES).sort(),
  );
});

for (const { resource, setting, counter } of rows()) {
  test(`${resource}: past ${setting} ${counter} counts, and the next turn is served`, async (context) => {
    const drive = DRIVES[resource] ?? assert.fail('no such bound');
    const hands = { clock: new ManualClock(), load: new HandLoad(), sweep: sweepsByHand(context) };
    await using gate = await startGateway({
      upstream: { accounts: ['north'], strict: false },
      load: hands.load,
      ...(drive.stopsClock ? { clock: hands.clock } : {}),
      config: (draft) => {
        if (drive.value !== undefined) set(draft, setting, drive.value);
        drive.more?.(draft);
        if (drive.isSecured) draft.listen.tls = certificateFiles(context);
      },
    });
    await drive.run(gate, hands);
    if (counter !== '') assert.ok((await counted(gate, counter)) > 0, 'it counts');
    assert.equal(gate.count('server_errors'), 0);
    const next = await until('a place', async () => {
      const status = await (drive.isSecured ? securely(gate) : gate.send('/v1/models').then((reply) => reply.status)).catch(
        () => undefined,
      );
      return status === 200 ? status : undefined;
    });
    assert.equal(next, 200);
  });
}
