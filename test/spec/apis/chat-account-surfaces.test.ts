// Replies of Chat accounts as each surface sends them to its clients (AA40, AA49, AA91).
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { HELLO, streamed } from '../../providers/chat/completions.ts';
import { type Platform, startPlatform } from '../../providers/responses/platform.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, PUBLIC_SOCKET, typesOf } from '../../support/native-frames.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { connect } from '../../support/websocket.ts';

const NATIVE = '/backend-api/agent/responses';
const PUBLIC = '/v1/responses';
const CHAT = '/v1/chat/completions';

let platform: Platform;
let gate: TestGateway;
before(async () => {
  platform = await startPlatform();
  gate = await startGateway({
    upstream: { accounts: ['box', 'north'] },
    config(draft) {
      draft.accounts[0] = {
        id: 'box',
        api: 'chat',
        base_url: platform.url,
        credential: { bearer: { env: 'BEARER_BOX' } },
        models: { 'model-a': 'own-c' },
        catalog: [{ id: 'own-c', context_window: 400_000, max_output: 1_000, input_modalities: ['text', 'image'] }],
      };
      draft.pools[0].assignments = [{ account: 'box' }, { account: 'north', tier: 1 }];
    },
  });
});
after(async () => {
  await gate.close();
  await platform.close();
});
beforeEach(() => {
  platform.clear();
  gate.reset();
  platform.next.push(streamed(HELLO));
});

const TYPES = [
  'response.created',
  'response.in_progress',
  'response.output_item.added',
  'response.content_part.added',
  ...Array.from({ length: 4 }, () => 'response.output_text.delta'),
  'response.output_text.done',
  'response.content_part.done',
  'response.output_item.done',
  'response.completed',
];

describe('surfaces', () => {
  test('[AA91] a native stream', async () => {
    const reply = await gate.send(NATIVE, { body: turnBody('hi'), headers: { 'x-agent-window-id': 'w', originator: 'client' } });
    assert.equal(reply.status, 200, reply.text);
    const events = eventsOf(reply.text).filter(({ event }) => event !== 'response.metadata');
    assert.deepEqual(
      events.map(({ event }) => event),
      TYPES,
    );
  });

  test('[AA91] a public stream, a JSON answer and Chat', async () => {
    const streamedReply = await gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi', stream: true } });
    assert.deepEqual(
      eventsOf(streamedReply.text).flatMap(({ data }) => (data === '[DONE]' ? [] : [data.type])),
      TYPES,
    );
    platform.next.push(streamed(HELLO), streamed(HELLO));
    const whole = await gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi' } });
    assert.equal(whole.json.output?.[0]?.content?.[0]?.text, 'hello brave new world', whole.text);
    const chat = await gate.send(CHAT, { body: { model: 'model-a', messages: [{ role: 'user', content: 'hi' }] } });
    assert.equal(chat.json.choices?.[0]?.message?.content, 'hello brave new world', chat.text);
  });

  test('[AA91] frames', async () => {
    for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
      platform.next.push(streamed(HELLO));
      using socket = await connect(gate, path);
      const frames = await socket.turn(frameOf('hi'));
      assert.deepEqual(
        typesOf(frames).filter((type) => !type.endsWith('.response.metadata')),
        TYPES,
        path,
      );
    }
  });
});
