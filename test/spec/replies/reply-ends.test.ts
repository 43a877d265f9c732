// What the end of a reply may reveal: known members are kept, and no text contains the account's token or its owner's mail address (Q3,
// S4).
import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { bearerOf, startGateway } from '../../support/gateway.ts';
import { NATIVE_SOCKET, PUBLIC_SOCKET } from '../../support/native-frames.ts';
import { modelEntry, replyBytes, replyEvents, replyJson, turnBody } from '../../support/rehearsal-replies.ts';
import { CHAT, CHAT_ALIAS, turnOn } from '../../support/turns/turn-paths.ts';
import { connect } from '../../support/websocket.ts';

const NATIVE = '/backend-api/agent/responses';
const PUBLIC = '/v1/responses';
const COMPACT = '/backend-api/agent/responses/compact';
const NATIVE_IMAGE = '/backend-api/agent/images/generations';

const TOKEN = bearerOf('north');
const MAIL = 'owner@provider.example';
const MARKER = 'x-internal-agent-responses-lite';
/** Content of the model and of the client, which stays unchanged whatever it looks like. */
const CONTENT = 'Write to reader@example.com.';

const gate = await startGateway({
  upstream: { accounts: [{ id: 'north', strict: false, models: [modelEntry({ slug: 'model-a' }), modelEntry({ slug: 'lite' })] }] },
  config: (draft) => {
    draft.pools[0].serving_modes = { lite: 'lite' };
    draft.pools[0].image_host_model = 'model-a';
    draft.accounts[0].compact = 'route';
  },
});
after(() => gate.close());
beforeEach(() => gate.reset());

const leaks = { note: `for ${TOKEN}`, details: [{ text: `of ${MAIL}`, account_id: 'a', [MARKER]: 'true' }], email: MAIL };

const responseOf = (status: string): JsonObject => ({
  id: 'resp_1',
  object: 'response',
  status,
  model: 'model-a',
  prompt_cache_key: '0a1b2c3d-0000-4000-8000-000000000000',
  metadata: { reader: 'reader@example.com' },
  output: [{ type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: CONTENT }] }],
  usage: { input_tokens: 3, output_tokens: 4, total_tokens: 7 },
  error: status === 'failed' ? { code: 'server_error', message: `${TOKEN} of ${MAIL} failed`, ...leaks } : null,
  incomplete_details: { reason: status === 'incomplete' ? 'max_output_tokens' : `seen ${MAIL}`, ...leaks },
  status_details: { type: status, message: `${TOKEN} of ${MAIL}`, ...leaks },
  headers: { [MARKER]: 'true', authorization: TOKEN },
  client_metadata: { turn_id: 't', [`ws_request_header_${MARKER.replaceAll('-', '_').toUpperCase()}`]: 'true' },
  ...leaks,
});

/** The beginning of a reply with visible output, after which no other account is tried. */
const SHOWN: readonly JsonObject[] = [
  { type: 'response.created', sequence_number: 0, response: { id: 'resp_1', status: 'in_progress', output: [] } },
  { type: 'response.output_text.delta', sequence_number: 1, output_index: 0, content_index: 0, item_id: 'msg_1', delta: CONTENT },
];

const endOf = (status: string): JsonObject => ({
  type: `response.${status}`,
  sequence_number: 2,
  response: responseOf(status),
  headers: { [MARKER.toUpperCase()]: 'true', 'x-agent-active-limit': 'a' },
  ...leaks,
});

const ERROR: JsonObject = {
  type: 'error',
  sequence_number: 2,
  status: 500,
  code: 'server_error',
  message: `${TOKEN} of ${MAIL} failed`,
  error: { type: 'server_error', code: 'server_error', message: `${TOKEN} of ${MAIL} failed`, ...leaks },
  headers: { [MARKER]: 'true' },
  ...leaks,
};

function assertClean(text: string, what: string): void {
  for (const secret of [TOKEN, MAIL]) assert.ok(!text.includes(secret), `${what}: ${text}`);
  const spelled = text.toLowerCase().replaceAll('_', '-');
  assert.ok(!spelled.includes(MARKER), `[F2.3] ${what}: ${text}`);
}

const STATUSES = ['completed', 'incomplete', 'failed'] as const;
const ENDS: readonly (readonly [string, JsonObject])[] = [...STATUSES.map((status) => [status, endOf(status)] as const), ['error', ERROR]];

describe('[Q3] [S4] [F2.3] the end of a reply has no token, no mail and no marker in it', () => {
  for (const [name, end] of ENDS) {
    for (const path of [NATIVE, PUBLIC, CHAT, CHAT_ALIAS]) {
      for (const stream of [true, false]) {
        for (const model of ['model-a', 'lite']) {
          test(`${name}, ${path}, ${stream ? 'streamed' : 'collected'}, ${model}`, async () => {
            gate.upstream.next('north', replyEvents([...SHOWN, end]));
            const { text } = await gate.send(path, { body: turnOn(path, 'hi', { stream, model }) });
            assertClean(text, name);
            if (stream) assert.ok(text.includes(CONTENT), text);
          });
        }
      }
    }
    for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
      test(`${name}, websocket ${path}`, async () => {
        gate.upstream.next('north', replyEvents([...SHOWN, end]));
        using socket = await connect(gate, path);
        const frames = await socket.turn(turnBody('hi'));
        assertClean(JSON.stringify(frames), name);
        assert.ok(JSON.stringify(frames).includes(CONTENT));
      });
    }
  }

  for (const status of ['completed', 'incomplete', 'failed']) {
    test(`a ${status} JSON answer of a native turn, of a compaction and of an image`, async () => {
      for (const path of [NATIVE, COMPACT, NATIVE_IMAGE]) {
        gate.upstream.next('north', replyJson(responseOf(status)));
        const { text } = await gate.send(path, { body: turnBody('hi', { stream: false, prompt: 'hi' }) });
        assertClean(text, path);
      }
    });
  }

  test('a refusal with a status', async () => {
    for (const path of [NATIVE, PUBLIC, CHAT, COMPACT, NATIVE_IMAGE, '/v1/images/generations']) {
      gate.upstream.next(
        'north',
        replyJson({ error: { ...(ERROR.error as JsonObject), type: 'invalid_request_error' }, ...leaks }, { status: 422 }),
      );
      const body = path.includes('images') ? { model: 'gpt-image-2', prompt: 'hi' } : turnOn(path, 'hi', { stream: false });
      assertClean((await gate.send(path, { body })).text, path);
    }
  });
});

describe('[Q3] the end of a reply keeps its known members', () => {
  const kept = ({ id, status, model, output, usage, metadata, prompt_cache_key }: JsonObject): Json[] =>
    [id, status, model, output, usage, metadata, prompt_cache_key] as Json[];

  for (const path of [NATIVE, PUBLIC]) {
    for (const status of STATUSES) {
      test(`${status}, ${path}`, async () => {
        gate.upstream.next('north', replyEvents([...SHOWN, endOf(status)]));
        using socket = await connect(gate, path === NATIVE ? NATIVE_SOCKET : PUBLIC_SOCKET);
        const frames = await socket.turn(turnBody('hi'));
        const { response } = frames.at(-1) as { response: JsonObject };
        assert.deepEqual(kept(response), kept(responseOf(status)));
        assert.equal((response.incomplete_details as JsonObject).reason, status === 'incomplete' ? 'max_output_tokens' : 'seen [redacted]');
        assert.equal((response.status_details as JsonObject).message, '[redacted] of [redacted]');
        assert.equal((frames.at(-1) as JsonObject).note, 'for [redacted]');
        if (path === NATIVE) assert.deepEqual((frames.at(-1) as JsonObject).headers, { 'x-agent-active-limit': 'a' });
        else assert.equal((frames.at(-1) as JsonObject).headers, undefined);
      });
    }
  }
});

test('[EV3] ordinary events pass byte for byte, and so does a terminal event that reveals nothing', async () => {
  const events = [
    `event: response.created\ndata: {"type":"response.created",  "sequence_number":0, "response":{"id":"resp_1","owner":"${MAIL}"}}\n\n`,
    `event: response.output_text.delta\ndata: {"type":"response.output_text.delta" ,"sequence_number":1,"delta":"${MAIL}"}\n\n`,
    'event: response.completed\ndata: {"type": "response.completed","sequence_number":2, "response": {"id":"resp_1","status":"completed","output":[],"extra":"\\u0061"}}\n\n',
  ];
  gate.upstream.next('north', replyBytes(events.join('')));
  assert.equal((await gate.send(NATIVE, { body: turnBody('hi') })).text, events.join(''));
});

describe('[F2.3] a metadata event of a provider has no marker in it', () => {
  const spellings = [MARKER, MARKER.toUpperCase(), MARKER.replaceAll('-', '_'), `ws_request_header_${MARKER.replaceAll('-', '_')}`];
  const headers = { ...Object.fromEntries(spellings.map((name) => [name, 'true'])), 'x-agent-turn-state': 'ts_1' };
  const metadata = (type: string): JsonObject => ({ type, headers, nested: { list: [{ headers }], [MARKER]: true }, [MARKER]: 'true' });
  const events = [metadata('response.metadata'), metadata('agent.response.metadata'), metadata('agent.rate_limits'), ...SHOWN];
  const end = { type: 'response.completed', sequence_number: 2, response: { id: 'resp_1', status: 'completed', output: [] } };
  const late = [...SHOWN, ...events.slice(0, 3), end];

  for (const model of ['model-a', 'lite']) {
    for (const [when, reply] of [
      ['before commit', [...events, end]],
      ['after commit', late],
    ] as const) {
      test(`${model}, ${when}`, async () => {
        for (const path of [NATIVE, PUBLIC]) {
          gate.upstream.next('north', replyEvents(reply));
          const { text } = await gate.send(path, { body: turnBody('hi', { model }) });
          assertClean(text, path);
          if (path === NATIVE) assert.ok(text.includes('ts_1'), 'other headers pass');
        }
        for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
          gate.upstream.next('north', replyEvents(reply));
          using socket = await connect(gate, path);
          assertClean(JSON.stringify(await socket.turn(turnBody('hi', { model }))), path);
        }
      });
    }
  }
});
