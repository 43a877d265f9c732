// Capsules over the wire: a capsule opens only in its own Pool, with its own key, in items of its own type, and unchanged; its size is
// bounded (AA22).
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import {
  type ChatStage,
  type ChatStageOptions,
  chatStage,
  look,
  NATIVE,
  responseOf,
  translatedEvents,
  user,
} from '../../providers/chat/chat-stage.ts';
import { call, chunk, ENDING, finish, HELLO, streamed, text } from '../../providers/chat/completions.ts';
import { type Reply, startGateway } from '../../support/gateway.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';

const OTHER_KEY = 'pg-key-of-the-other-pool';
const COMPACT = `${NATIVE}/compact`;

const options: ChatStageOptions = {
  account: { quirks: { reasoning_replay: 'tool_loop' } },
  config: (draft) => {
    draft.pools.push({ id: 'other', label: 'Other', assignments: [{ account: 'box' }] });
    draft.keys.push({ id: 'other', pool: 'other', secret_sha256: [hash('sha256', OTHER_KEY, 'hex')] });
  },
};

let stage: ChatStage;
before(async () => {
  stage = await chatStage(options);
});
after(() => stage[Symbol.asyncDispose]());
beforeEach(() => stage.clear());

const output = { type: 'function_call_output', call_id: 'c1', output: 'found' };
const body = (input: readonly JsonObject[]): JsonObject => ({ model: 'model-a', stream: true, store: false, input, tools: [look] });
const other = { authorization: `Bearer ${OTHER_KEY}` };

/** The items of a turn that has reasoning and calls a tool. */
async function thinking(thoughts: readonly string[] = ['Look first.']): Promise<readonly JsonObject[]> {
  const called = call(0, { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } });
  stage.platform.next.push(streamed([...thoughts.map((reasoning) => chunk({ reasoning })), called, finish('tool_calls'), '[DONE]']));
  const reply = await stage.gate.send(NATIVE, { body: body([user('Look.')]) });
  return responseOf(translatedEvents(reply.text)).output as readonly JsonObject[];
}

/** Makes a summary of a conversation. */
async function summarised(): Promise<JsonObject> {
  stage.platform.next.push(streamed([text('Goal: tests.'), ...ENDING]));
  const reply = await stage.gate.send(COMPACT, { body: { model: 'model-a', input: [user('Write tests.')] } });
  return reply.json.output[0];
}

const capsuleOf = (item: JsonObject | undefined): string => String(item?.encrypted_content);
const withCapsule = (items: readonly JsonObject[], capsule: string): readonly JsonObject[] =>
  items.map((item) => (item.type === 'reasoning' ? { ...item, encrypted_content: capsule } : item));

/** The reasoning that the account gets back if these items are sent. */
async function replayed(items: readonly JsonObject[], { on = stage, headers = {} }: Sent = {}): Promise<unknown> {
  on.platform.clear();
  on.platform.next.push(streamed(HELLO));
  const reply = await on.gate.send(NATIVE, { body: body([user('Look.'), ...items, output]), headers });
  assert.equal(reply.status, 200, reply.text);
  const sent = JSON.stringify(on.platform.requests[0]?.json);
  assert.ok(!sent.includes('pgc1.'), 'no account gets a capsule');
  return on.platform.requests[0]?.json.messages[1].reasoning_content;
}

interface Sent {
  readonly on?: ChatStage;
  readonly headers?: Record<string, string>;
}

const continued = (item: JsonObject, { on = stage, headers = {} }: Sent = {}): Promise<Reply> => {
  on.platform.clear();
  return on.gate.send(NATIVE, { body: body([item, user('Go on.')]), headers });
};

async function assertRestarts(item: JsonObject, sent: Sent = {}): Promise<void> {
  const reply = await continued(item, sent);
  assert.deepEqual([reply.status, reply.json.error?.code], [400, 'continuation_requires_restart'], reply.text);
  assert.equal((sent.on ?? stage).platform.requests.length, 0);
}

test('[AA22] reasoning opens in its own Pool alone', async () => {
  const items = await thinking();
  assert.equal(await replayed(items), 'Look first.');
  assert.equal(await replayed(items, { headers: other }), undefined);
});

test('[AA22] a summary opens in its own Pool alone', async () => {
  const item = await summarised();
  stage.platform.next.push(streamed(HELLO));
  await continued(item);
  assert.match(stage.platform.requests[0]?.json.messages[0].content, /Goal: tests\.$/);
  await assertRestarts(item, { headers: other });
});

test('[AA22] nothing opens with another key of the store', async () => {
  const [items, item] = [await thinking(), await summarised()];
  // A gateway with another store has another key.
  await using foreign = await chatStage(options);
  assert.equal(await replayed(items, { on: foreign }), undefined);
  await assertRestarts(item, { on: foreign });
});

test('[AA22] a capsule opens in an item of its own type alone', async () => {
  const [items, item] = [await thinking(), await summarised()];
  assert.equal(await replayed(withCapsule(items, capsuleOf(item))), undefined);
  await assertRestarts({ ...item, encrypted_content: capsuleOf(items[0]) });
});

describe('a capsule that is not as it was sealed', () => {
  const flipped = (capsule: string, at: number): string => capsule.slice(0, at) + (capsule[at] === 'A' ? 'B' : 'A') + capsule.slice(at + 1);
  const CHANGES: Readonly<Record<string, (capsule: string) => string>> = {
    'changed in its first bytes': (capsule) => flipped(capsule, 'pgc1.'.length),
    'changed in its text': (capsule) => flipped(capsule, Math.floor(capsule.length / 2)),
    'changed in its last bytes': (capsule) => flipped(capsule, capsule.length - 4),
    'cut at its end': (capsule) => capsule.slice(0, -8),
    'cut to its beginning': (capsule) => capsule.slice(0, 'pgc1.'.length + 10),
    'cut to its name': () => 'pgc1.',
    'longer than it was': (capsule) => `${capsule}AAAA`,
    'without the bytes of base64': () => 'pgc1.\u{1f600}%%%',
  };
  for (const [how, change] of Object.entries(CHANGES)) {
    test(`[AA22] ${how}: reasoning is left out, and a summary asks for a restart`, async () => {
      const [items, item] = [await thinking(), await summarised()];
      assert.equal(await replayed(withCapsule(items, change(capsuleOf(items[0])))), undefined);
      await assertRestarts({ ...item, encrypted_content: change(capsuleOf(item)) });
    });
  }
});

test('[AA22] at most 1 MiB is sealed in one turn', async () => {
  const piece = 'x'.repeat(65_536);
  const long = (pieces: number): readonly string[] => Array.from({ length: pieces }, () => piece);
  const [fits] = await thinking(long(15));
  assert.match(capsuleOf(fits), /^pgc1\./);
  const [exceeds, called] = await thinking(long(17));
  assert.deepEqual([exceeds?.type, exceeds?.encrypted_content, called?.type], ['reasoning', undefined, 'function_call']);
  assert.equal(await replayed([exceeds, called] as readonly JsonObject[]), undefined, 'the turn goes on without it');
});

test('[AA22] a summary over 1 MiB is no compaction', async () => {
  stage.platform.next.push(streamed([...Array.from({ length: 17 }, () => text('x'.repeat(65_536))), ...ENDING]));
  const reply = await stage.gate.send(COMPACT, { body: { model: 'model-a', input: [user('Write tests.')] } });
  assert.deepEqual([reply.status, reply.json.error.code], [502, 'invalid_compaction_response'], reply.text.slice(0, 500));
});

test('[AA93] in a Pool of agent accounts reasoning passes as it came, whatever its ciphertext', async () => {
  await using gate = await startGateway({ upstream: { accounts: ['north'], strict: false } });
  const [user] = turnBody('hi').input as readonly JsonObject[];
  const input = [user, { type: 'reasoning', summary: [], encrypted_content: 'pgc1.AAAA' }, { type: 'reasoning', summary: [] }, user];
  const reply = await gate.send(NATIVE, { body: { ...turnBody('hi'), input } });
  assert.equal(reply.status, 200, reply.text);
  const [sent] = gate.upstream.turns();
  assert.deepEqual((sent?.json as JsonObject | undefined)?.input, input);
});

test('[AA83] capsules_total counts each capsule that was sealed, opened or refused', async () => {
  const counted = async (): Promise<Readonly<Record<string, number>>> => {
    const metrics = await stage.gate.metrics();
    const found = metrics.matchAll(/^poolgate_capsules_total\{result="(\w+)"\} (\d+)$/gm);
    return Object.fromEntries([...found].map(([, result, value]) => [result, Number(value)]));
  };
  let last = await counted();
  const since = async (): Promise<unknown> => {
    const now = await counted();
    const grown = Object.fromEntries(Object.entries(now).map(([result, value]) => [result, value - (last[result] ?? 0)]));
    last = now;
    return grown;
  };
  assert.deepEqual(Object.keys(last).sort(), ['opened', 'refused', 'sealed']);
  const items = await thinking();
  assert.deepEqual(await since(), { sealed: 1, opened: 0, refused: 0 });
  await replayed(items);
  assert.deepEqual(await since(), { sealed: 0, opened: 1, refused: 0 });
  await replayed(items, { headers: other });
  assert.deepEqual(await since(), { sealed: 0, opened: 0, refused: 1 }, 'of another Pool');
  const summary = await summarised();
  assert.deepEqual(await since(), { sealed: 1, opened: 0, refused: 0 });
  await replayed([summary]);
  assert.deepEqual(await since(), { sealed: 0, opened: 1, refused: 0 });
  await assertRestarts({ ...summary, encrypted_content: `${capsuleOf(summary)}x` });
  assert.deepEqual(await since(), { sealed: 0, opened: 0, refused: 1 });
});
