// If one path of an account gets the challenge page of a network's guard, that path waits, and every other path of the account stays in use
// (RB4).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { challengePage } from '../../../proxy/rehearsal/account/simulated-catalog.ts';
import { ShiftedClock } from '../../support/clocks/shifted-clock.ts';
import { type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { replyJson } from '../../support/rehearsal-replies.ts';
import { audioForm } from '../../support/stages/audio.ts';

const { status, headers, body } = challengePage();
const PAGE = { kind: 'reply', status, headers, body: { text: body.kind === 'bytes' ? body.bytes.toString() : '' } } as const;

const said = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] };

async function transcription(gate: TestGateway, path: string): Promise<{ readonly status: number; readonly text: string }> {
  const reply = await fetch(gate.url + path, { method: 'POST', body: audioForm(), headers: { authorization: 'Bearer pg-test-key' } });
  return { status: reply.status, text: await reply.text() };
}

type Ask = (gate: TestGateway) => Promise<Pick<Reply, 'status' | 'text'>>;

interface Path {
  /** The name of the path in the health of the account. */
  readonly name: string;
  /** The path at the account. */
  readonly path: string;
  /** The requests of clients that go to this path. */
  readonly asks: readonly Ask[];
}

const TURNS = '/backend-api/agent/responses';
const COMPACT = '/backend-api/agent/responses/compact';
const TRANSCRIBE = '/backend-api/transcribe';

const PATHS: readonly Path[] = [
  {
    name: '(responses)',
    path: TURNS,
    asks: [
      (gate) => gate.send(TURNS, { body: { model: 'model-a', input: [said], stream: true, store: false } }),
      (gate) => gate.send('/v1/chat/completions', { body: { model: 'model-a', messages: [{ role: 'user', content: 'hi' }] } }),
      (gate) => gate.send('/v1/images/generations', { body: { model: 'image-model', prompt: 'a house' } }),
    ],
  },
  {
    name: '(compact)',
    path: COMPACT,
    asks: [
      (gate) => gate.send(COMPACT, { body: { model: 'model-a', input: [said] } }),
      (gate) => gate.send('/v1/responses', { body: { model: 'model-mini', input: [said, { type: 'compaction_trigger' }] } }),
    ],
  },
  {
    name: '(image)',
    path: '/backend-api/agent/images/generations',
    asks: [(gate) => gate.send('/backend-api/agent/images/generations', { body: { model: 'image-model', prompt: 'a house' } })],
  },
  {
    name: '(transcribe)',
    path: TRANSCRIBE,
    asks: [(gate) => transcription(gate, '/v1/audio/transcriptions'), (gate) => transcription(gate, TRANSCRIBE)],
  },
  {
    name: '(files)',
    path: '/backend-api/files',
    asks: [(gate) => gate.send('/backend-api/files', { body: { file_name: 'a.txt', file_size: 1, use_case: 'codex' } })],
  },
];

interface Guarded {
  readonly gate: TestGateway;
  readonly clock: ShiftedClock;
  /** The paths at which the account `north` gets the page. */
  readonly challenged: Set<string>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** @param from the paths that are challenged from the start */
async function guarded(compact: 'route' | 'trigger' | 'auto' = 'route', from: readonly string[] = []): Promise<Guarded> {
  const challenged = new Set(from);
  const clock = new ShiftedClock();
  const gate = await startGateway({
    clock,
    upstream: { strict: false, script: ({ account, path }) => (account === 'north' && challenged.has(path) ? PAGE : undefined) },
    config: (draft) => {
      for (const account of draft.accounts) account.compact = compact;
      draft.pools[0].image_host_model = 'model-a';
    },
  });
  return { gate, clock, challenged, [Symbol.asyncDispose]: () => gate.close() };
}

/** The accounts to which this request was sent. */
async function accountsOf(gate: TestGateway, { path }: Pick<Path, 'path'>, ask: Ask): Promise<readonly string[]> {
  const before = gate.upstream.requests().length;
  const reply = await ask(gate);
  assert.ok(!reply.text.includes('Just a moment'), 'no client gets the page');
  return gate.upstream
    .requests()
    .slice(before)
    .flatMap(({ account, path: at }) => (at === path ? account : []));
}

const cooledPaths = (gate: TestGateway): readonly string[] => Object.keys(gate.account('north').models);

describe('[RB4] a challenge page', () => {
  for (const [index, page] of PATHS.entries()) {
    test(`on the path ${page.path} cools that path for all requests that go there, and no other path of the account`, async () => {
      await using world = await guarded();
      const { gate, clock, challenged } = world;
      challenged.add(page.path);
      const [first = () => assert.fail()] = page.asks;
      assert.equal((await accountsOf(gate, page, first))[0], 'north');
      assert.deepEqual(cooledPaths(gate), [page.name]);
      assert.deepEqual([gate.account('north').status, gate.account('north').cooldown], ['active', undefined]);
      for (const ask of page.asks) assert.deepEqual(await accountsOf(gate, page, ask), ['south']);
      for (const other of PATHS.filter((_, i) => i !== index)) {
        for (const ask of other.asks) assert.deepEqual(await accountsOf(gate, other, ask), ['north'], other.path);
      }
      assert.deepEqual(cooledPaths(gate), [page.name], 'the success of another path is no evidence for this one');
      challenged.clear();
      clock.setAhead(11_000);
      assert.deepEqual(await accountsOf(gate, page, first), ['north']);
      assert.deepEqual(cooledPaths(gate), []);
    });
  }

  test('on the paths of turns and of compactions cools both, and each of them ends by itself', async () => {
    await using world = await guarded();
    const { gate, clock, challenged } = world;
    const [turns, compact] = PATHS.map((path) => ({ ...path, ask: path.asks[0] ?? (() => assert.fail()) }));
    assert.ok(turns && compact);
    challenged.add(TURNS).add(COMPACT);
    await turns.ask(gate);
    await compact.ask(gate);
    assert.deepEqual(new Set(cooledPaths(gate)), new Set(['(responses)', '(compact)']));
    challenged.delete(COMPACT);
    clock.setAhead(11_000);
    assert.deepEqual(await accountsOf(gate, compact, compact.ask), ['north']);
    assert.deepEqual(await accountsOf(gate, turns, turns.ask), ['north', 'south']);
    assert.deepEqual(cooledPaths(gate), ['(responses)']);
  });

  for (const way of ['trigger', 'auto'] as const) {
    test(`that a compaction gets as a turn with a trigger cools the path of turns (compact: ${way})`, async () => {
      await using world = await guarded(way);
      const { gate, challenged } = world;
      const compact: Ask = (to) => to.send(COMPACT, { body: { model: 'model-a', input: [said] } });
      // With `auto`, the request that gets the page is also the one by which the gateway learns that the account has no compact path.
      if (way === 'auto') gate.upstream.next('north', replyJson({ detail: 'Not Found' }, { status: 404 }));
      challenged.add(TURNS);
      assert.deepEqual(await accountsOf(gate, { path: TURNS }, compact), way === 'trigger' ? ['north', 'south'] : ['north']);
      assert.deepEqual(cooledPaths(gate), ['(responses)']);
      assert.deepEqual(await accountsOf(gate, { path: TURNS }, PATHS[0]?.asks[0] ?? compact), ['south']);
      if (way === 'trigger') assert.deepEqual(await accountsOf(gate, { path: TURNS }, compact), ['south']);
      else assert.deepEqual(await accountsOf(gate, { path: COMPACT }, compact), ['south']);
    });
  }

  test('on the only account of a model closes none of its paths', async () => {
    await using world = await guarded();
    const { gate, challenged } = world;
    await gate.reconfigure((draft) => {
      draft.pools[0].assignments = [{ account: 'north' }];
    });
    for (const { path } of PATHS) challenged.add(path);
    for (const path of PATHS) {
      for (const ask of path.asks) assert.deepEqual(await accountsOf(gate, path, ask), ['north'], path.path);
    }
    assert.deepEqual(cooledPaths(gate), []);
  });

  for (const read of ['/backend-api/agent/models', '/backend-api/meter/usage']) {
    test(`on the gateway's own read of ${read} cools nothing`, async () => {
      const isList = read.endsWith('/models');
      await using world = await guarded('route', isList ? [] : [read]);
      const { gate, challenged } = world;
      challenged.add(read);
      const before = isList ? gate.upstream.requests().length : 0;
      // The gateway reads the lists again because of an unknown model; it reads usage at its start.
      await gate.send('/v1/responses', { body: { model: 'model-of-no-list', input: 'hi' } });
      const reads = gate.upstream.requests('north').filter(({ number, path }) => number > before && path === read);
      assert.notEqual(reads.length, 0);
      for (const other of PATHS) for (const ask of other.asks) assert.deepEqual(await accountsOf(gate, other, ask), ['north'], other.path);
      assert.deepEqual(cooledPaths(gate), []);
    });
  }
});
