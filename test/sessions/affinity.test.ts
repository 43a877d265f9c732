// Prompt-cache affinity: the turns to which it applies, the names of conversations, and how long an account is remembered (F8.3, Q10, Q11).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Counters } from '../../proxy/base/process/metrics.ts';
import { KeyedDigest } from '../../proxy/encryption/digest.ts';
import { type AffinityTurn, affinityOf } from '../../proxy/sessions/affinity.ts';
import { Ciphertexts } from '../../proxy/sessions/issued-values.ts';
import { PinCache, type PinStore } from '../../proxy/sessions/pins/pin-cache.ts';
import type { Affinity, Continuation } from '../../proxy/turn/continuation.ts';
import type { Json, JsonObject } from '../../proxy/turn/json/json.ts';
import type { RouteKind } from '../../proxy/turn/routes/kinds.ts';
import type { PinRow } from '../../store/store.ts';
import { entry } from '../models/support.ts';
import { ManualClock } from '../support/clocks/manual-clock.ts';

const MINUTE = 60_000;
const NOTHING: Pick<Continuation, 'session' | 'soft'> = { session: undefined, soft: undefined };

const user = (text: string): JsonObject => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] });
const assistant = (text: string): JsonObject => ({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] });

class World {
  readonly clock = new ManualClock();
  readonly rows = new Map<string, PinRow>();
  /** The number of reads of the store. */
  reads = 0;
  readonly pins = this.process();

  /** The pins of another process over the same store. */
  process(): PinCache {
    const store: PinStore = {
      put: (row) => void this.rows.set(row.hash, row),
      putNow: (rows) => {
        for (const row of rows) this.rows.set(row.hash, row);
      },
      load: async () => [],
      find: async (hash) => {
        this.reads += 1;
        return this.rows.get(hash);
      },
    };
    return new PinCache({
      store,
      digest: new KeyedDigest(Buffer.alloc(32, 7)),
      clock: this.clock,
      counters: new Counters(),
      capacity: 100,
    });
  }

  async of(body: JsonObject, { turn = turnOf(), continued = NOTHING, pins = this.pins } = {}): Promise<Affinity | undefined> {
    return affinityOf(turn, body, pins, continued);
  }

  /** The account of a turn; `account` then answers it. */
  async turn(account: string, body: JsonObject, options: Parameters<World['of']>[1] = {}): Promise<string | undefined> {
    const affinity = await this.of(body, options);
    affinity?.learn(account);
    return affinity?.account;
  }
}

const turnOf = (
  fields: {
    kind?: RouteKind;
    method?: string;
    client?: 'http' | 'websocket';
    pool?: string;
    key?: string;
    model?: string;
    locality?: boolean;
  } = {},
): AffinityTurn => {
  const { kind = 'responses', method = 'POST', client = 'http', pool = 'team', key = 'ci', model = 'model-a', locality = true } = fields;
  return {
    client,
    route: { kind, method },
    pool: { id: pool, prompt_cache_locality: locality, assignments: [], overflow: { on: [], wait_ms: 0, reasoning: 'drop', tiers: {} } },
    key: { id: key },
    model: { id: model, entry: entry(model), routable: true, mode: undefined },
  };
};

describe('[Q11] a prompt_cache_key', () => {
  test('has no account before its first reply, and the one that answered last after it', async () => {
    const world = new World();
    assert.equal(await world.turn('north', { prompt_cache_key: 'k' }), undefined);
    assert.equal(await world.turn('south', { prompt_cache_key: 'k' }), 'north');
    assert.equal(await world.turn('south', { prompt_cache_key: 'k' }), 'south');
    assert.equal((await world.of({ prompt_cache_key: 'k' }))?.reason, 'locality');
  });

  test('is identified by Pool, API key, model and value', async () => {
    const world = new World();
    await world.turn('north', { prompt_cache_key: 'k' });
    for (const turn of [turnOf({ pool: 'other' }), turnOf({ key: 'cd' }), turnOf({ model: 'model-b' })]) {
      assert.equal((await world.of({ prompt_cache_key: 'k' }, { turn }))?.account, undefined);
    }
    assert.equal((await world.of({ prompt_cache_key: 'k2' }))?.account, undefined);
  });

  test('keeps its account for an hour after its last reply', async () => {
    const world = new World();
    const body = { prompt_cache_key: 'k' };
    await world.turn('north', body);
    for (let turn = 0; turn < 3; turn++) {
      await world.clock.advance(58 * MINUTE);
      assert.equal(await world.turn('north', body), 'north');
    }
    await world.clock.advance(60 * MINUTE);
    assert.equal((await world.of(body))?.account, undefined);
  });

  test('is found by another process, by a keyed digest in the store', async () => {
    const world = new World();
    await world.turn('north', { prompt_cache_key: 'a-client-secret' });
    world.pins.flush();
    assert.doesNotMatch(JSON.stringify([...world.rows]), /secret/);
    assert.equal((await world.of({ prompt_cache_key: 'a-client-secret' }, { pins: world.process() }))?.account, 'north');
  });

  test('is not read from the store twice while its first turn has no reply', async () => {
    const world = new World();
    for (let turn = 0; turn < 5; turn++) await world.of({ prompt_cache_key: 'k' });
    assert.equal(world.reads, 1);
  });

  test('is recorded, and not looked up, where the turn has a soft pin', async () => {
    const world = new World();
    const continued = { session: undefined, soft: 'west' };
    await world.turn('north', { prompt_cache_key: 'k' });
    assert.equal(await world.turn('west', { prompt_cache_key: 'k' }, { continued }), undefined);
    assert.equal((await world.of({ prompt_cache_key: 'k' }))?.account, 'west');
  });

  test('of a megabyte is hashed at both ends', async () => {
    const world = new World();
    const long = 'x'.repeat(1_000_000);
    await world.turn('north', { prompt_cache_key: `${long}1` });
    assert.equal((await world.of({ prompt_cache_key: `${long}1` }))?.account, 'north');
    assert.equal((await world.of({ prompt_cache_key: `${long}2` }))?.account, undefined);
  });
});

describe('[Q11] a conversation without a key and a session', () => {
  const first = { instructions: 'be brief', input: [user('hello')] };
  const second = { ...first, input: [user('hello'), assistant('hi'), user('more')] };

  test('is placed by the strategy at its first turn, and keeps the account of its last turn', async () => {
    const world = new World();
    assert.equal(await world.turn('north', first), undefined);
    assert.equal(await world.turn('south', first), undefined, 'an equal first turn is placed by the strategy too');
    assert.equal(await world.turn('south', second), 'south');
    assert.equal((await world.of(second))?.reason, 'conversation');
  });

  test('is identified by its instructions and its first user message', async () => {
    const world = new World();
    await world.turn('north', first);
    for (const other of [
      { ...second, instructions: 'be verbose' },
      { ...second, input: [user('hello!'), ...second.input.slice(1)] },
      { input: second.input },
    ]) {
      assert.equal((await world.of(other))?.account, undefined);
    }
    const longer = { ...second, input: [...second.input, assistant('yes'), user('thanks')] };
    assert.equal((await world.of(longer))?.account, 'north');
  });

  for (const [what, item] of Object.entries<JsonObject>({
    'an untyped assistant message': { role: 'assistant', content: 'hi' },
    'a reasoning item': { type: 'reasoning', summary: [] },
    'a function call': { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
    'a web search call': { type: 'web_search_call', id: 'ws' },
    'a compaction item': { type: 'compaction', encrypted_content: 'c' },
  })) {
    test(`continues where its input has ${what}`, async () => {
      const world = new World();
      await world.turn('north', first);
      assert.equal((await world.of({ ...first, input: [user('hello'), item, user('more')] }))?.account, 'north');
    });
  }

  test('has no affinity where the turn has a session or a soft pin', async () => {
    const world = new World();
    const { pins } = world;
    for (const continued of [
      { session: pins.name('header', 'team', 'ci', 's'), soft: undefined },
      { session: undefined, soft: 'north' },
    ]) {
      assert.equal(await world.of(second, { continued }), undefined);
    }
  });

  test('has no affinity without a user message', async () => {
    const world = new World();
    for (const input of [undefined, null, 7, [], [assistant('hi')], [{ role: 'user' }], [{ role: 'user', content: [7, null] }]] as (
      | Json
      | undefined
    )[]) {
      assert.equal(await world.of({ input: input as Json }), undefined);
    }
  });

  test('is identified by a text input, an image and both ends of a long message', async () => {
    const world = new World();
    await world.turn('north', { input: 'hello' });
    assert.equal((await world.of({ input: [{ role: 'user', content: 'hello' }, assistant('hi')] }))?.account, 'north');
    const image = (url: string): JsonObject => ({ role: 'user', content: [{ type: 'input_image', image_url: url }] });
    await world.turn('south', { input: [image('data:1')] });
    assert.equal((await world.of({ input: [image('data:1'), assistant('a dog')] }))?.account, 'south');
    assert.equal((await world.of({ input: [image('data:2'), assistant('a cat')] }))?.account, undefined);
    const long = 'x'.repeat(1_000_000);
    await world.turn('west', { input: [user(`${long}1`)] });
    assert.equal((await world.of({ input: [user(`${long}1`), assistant('ok')] }))?.account, 'west');
    assert.equal((await world.of({ input: [user(`${long}2`), assistant('ok')] }))?.account, undefined);
  });

  test('[S4] leaves no text in memory or store', async () => {
    const world = new World();
    await world.turn('north', { input: [user('a-secret-prompt')] });
    world.pins.flush();
    assert.doesNotMatch(JSON.stringify([...world.rows]), /secret/);
  });
});

describe('[F8.3] affinity', () => {
  const body = { prompt_cache_key: 'k', input: [user('hello')] };
  const applies = async (turn: AffinityTurn): Promise<boolean> => (await new World().of(body, { turn })) !== undefined;

  for (const kind of ['responses', 'chat', 'public-responses'] as RouteKind[]) {
    test(`applies to a POST of ${kind}`, async () => assert.equal(await applies(turnOf({ kind })), true));
  }

  for (const kind of ['compact', 'image', 'public-image', 'file-create', 'transcribe', 'pool-usage', 'forward'] as RouteKind[]) {
    test(`does not apply to ${kind}`, async () => assert.equal(await applies(turnOf({ kind })), false));
  }

  test('does not apply to a websocket, also where its turn goes over HTTP', async () => {
    assert.equal(await applies(turnOf({ method: 'WS', client: 'websocket' })), false);
    assert.equal(await applies(turnOf({ client: 'websocket' })), false);
  });

  test('does not apply in a Pool without prompt_cache_locality', async () =>
    assert.equal(await applies(turnOf({ locality: false })), false));

  test('ignores a prompt_cache_key that is not a text', async () => {
    for (const prompt_cache_key of ['', 7, null]) {
      assert.equal((await new World().of({ prompt_cache_key, input: [user('hello')] }))?.reason, 'conversation');
    }
  });
});

describe('[Q10] the newest known ciphertext', () => {
  const sealed = (by: string): JsonObject => ({ type: 'reasoning', summary: [], encrypted_content: `enc_${by}` });

  test('names the account that made it', () => {
    const ciphertexts = new Ciphertexts(new World().pins);
    ciphertexts.learn(sealed('1'), 'north');
    ciphertexts.learn(sealed('2'), 'south');
    assert.equal(ciphertexts.newestMaker([user('hello'), sealed('1'), sealed('2'), user('more')]), 'south');
    assert.equal(ciphertexts.newestMaker([sealed('2'), sealed('1'), sealed('unknown')]), 'north');
  });

  test('is read from the store where none is in memory, with one read', async () => {
    const world = new World();
    new Ciphertexts(world.pins).learn(sealed('1'), 'north');
    world.pins.flush();
    const restarted = new Ciphertexts(world.process());
    const before = world.reads;
    assert.equal(await restarted.newestMaker([user('hello'), sealed('0'), sealed('1')]), 'north');
    assert.equal(world.reads - before, 1);
  });

  test('is not looked up for an input without ciphertext', () => {
    const world = new World();
    assert.equal(new Ciphertexts(world.pins).newestMaker([user('hello'), assistant('hi')]), undefined);
    assert.equal(world.reads, 0);
  });
});
