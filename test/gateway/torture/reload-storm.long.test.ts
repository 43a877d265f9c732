// Turns over HTTP and websockets while accounts fail, clients leave and the configuration changes at random: each turn ends exactly once,
// leaves one row, and releases everything that it held.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { describe, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { SeededRandom } from '../../simulation/seeded-random.ts';
import { type Draft, KEY, startGateway, type TestGateway } from '../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, PUBLIC_SOCKET, turnFrame, userMessage } from '../../support/native-frames.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { seedsOf } from '../../support/sample.ts';
import { until } from '../../support/until.ts';
import { connect, type TestSocket, UpgradeRefusal } from '../../support/websocket.ts';

const ACCOUNTS = ['north', 'south', 'west'];
const OTHER_KEY = 'pg-other-key';
const CLIENTS = 8;
const STEPS = 14;
/** Most turns take less time than this. */
const PATIENCE_MS = 40;

const SCRIPTS = [
  ...Array.from({ length: 14 }, () => 'steady'),
  'pace 5',
  'refuse 500',
  'refuse 401',
  'refuse 429 retry 1',
  'refuse 429 usage_limit_reached resets 60',
  'refuse 400 invalid_value',
  'refuse inside',
  'refuse inside as error after 4 events',
  'cut before headers',
  'cut after 5 events',
  'reset after 300 bytes',
  'close 1011 after 4 events',
  'connection limit',
  'anchor lost',
  'frame too large',
  'no terminal',
  'compaction missing',
  'stall before headers for 20 ms',
  'stall after 5 events for 20 ms',
  'refuse upgrade 503',
  'stall upgrade for 20 ms',
  'reset upgrade',
] as const;

/** The changes that an operator makes, each from the same initial configuration. */
const EDITS: readonly ((draft: Draft) => void)[] = [
  () => undefined,
  (draft) => without(draft, 'north'),
  (draft) => without(draft, 'west'),
  (draft) => {
    draft.accounts[0].headers = { 'x-account-id': 'another' };
  },
  (draft) => {
    for (const account of draft.accounts) account.max_concurrent = 1;
  },
  (draft) => {
    draft.accounts[0].websocket = false;
  },
  (draft) => {
    draft.accounts[1].compact = 'trigger';
  },
  (draft) => {
    delete draft.keys[0].limits;
  },
  (draft) => {
    draft.keys[1].limits = { concurrent: 4, tokens_per_minute: 1_000_000 };
  },
  (draft) => {
    draft.keys[1].status = 'paused';
  },
  (draft) => {
    const classes = ['stream', 'websocket', 'compact', 'image'];
    draft.admission = Object.fromEntries(classes.map((name) => [name, { running: 2, waiting: 3, wait_ms: 30 }]));
  },
];

function without(draft: Draft, id: string): void {
  draft.accounts = draft.accounts.filter((account: Draft) => account.id !== id);
  draft.pools[0].assignments = draft.pools[0].assignments.filter(({ account }: Draft) => account !== id);
}

const REQUESTS: readonly (readonly [path: string, body: JsonObject])[] = [
  [NATIVE_SOCKET, turnBody('hello')],
  [NATIVE_SOCKET, { ...turnBody('hello'), stream: false }],
  [PUBLIC_SOCKET, { model: 'model-a', input: 'hello', stream: true }],
  [PUBLIC_SOCKET, { model: 'model-a', input: 'hello' }],
  [PUBLIC_SOCKET, { model: 'model-a', input: [userMessage('hello'), { type: 'compaction_trigger' }] }],
  ['/v1/chat/completions', { model: 'model-a', messages: [{ role: 'user', content: 'hello' }], stream: true }],
  ['/backend-api/agent/responses/compact', { model: 'model-a', instructions: '', input: [userMessage('hello')] }],
  ['/v1/images/generations', { model: 'gpt-image-1', prompt: 'a cat' }],
];

/** The draft with the initial values. */
function asAt(beginning: Draft, draft: Draft): Draft {
  delete draft.admission;
  return Object.assign(draft, structuredClone(beginning));
}

class Storm {
  readonly #gate: TestGateway;
  readonly #random: SeededRandom;
  readonly #sockets = new Map<number, TestSocket>();

  constructor(gate: TestGateway, seed: number) {
    this.#gate = gate;
    this.#random = new SeededRandom(seed);
  }

  /** Sets the next answers of the accounts, changes the configuration in the middle, and runs a turn of every client. */
  async step(beginning: Draft): Promise<void> {
    for (const account of [...ACCOUNTS, ...ACCOUNTS, ...ACCOUNTS, ...ACCOUNTS]) {
      const script = this.#oneOf(SCRIPTS);
      if (script.includes('upgrade')) this.#gate.upstream.nextUpgrade(account, script);
      else this.#gate.upstream.next(account, script);
    }
    this.#gate.heal();
    const turns = Array.from({ length: CLIENTS }, (_, i) => Promise.all([this.#request(), this.#frame(i)]));
    const edit = this.#oneOf(EDITS);
    await this.#gate.reconfigure((draft) => edit(asAt(beginning, draft)));
    await Promise.all(turns);
  }

  leave(): void {
    for (const socket of this.#sockets.values()) socket.terminate();
  }

  async #request(): Promise<void> {
    const [path, body] = this.#oneOf(REQUESTS);
    const headers = { authorization: `Bearer ${this.#oneOf([KEY, OTHER_KEY])}`, 'session-id': `http-${this.#below(4)}` };
    const leaves = this.#below(4) === 0 ? { signal: AbortSignal.timeout(1 + this.#below(PATIENCE_MS)) } : {};
    await this.#gate.send(path, { body, headers, ...leaves }).catch(() => undefined);
  }

  async #frame(client: number): Promise<void> {
    const path = client % 2 === 0 ? NATIVE_SOCKET : PUBLIC_SOCKET;
    const socket = await this.#connected(client, path);
    if (!socket) return;
    const members = this.#below(6) === 0 ? { generate: false } : {};
    socket.send(turnFrame(`turn-${client}-${this.#below(3)}`, [userMessage('hello')], members));
    if (this.#below(5) === 0) socket.send({ type: 'response.create', ...frameOf('one more') });
    if (this.#below(4) === 0) {
      await socket.next().catch(() => undefined);
      socket.terminate();
    } else
      await socket.rest().catch((thrown: Error) => {
        assert.ok(!socket.isOpen, thrown.message);
      });
  }

  /** Undefined if the upgrade is refused. */
  async #connected(client: number, path: string): Promise<TestSocket | undefined> {
    const open = this.#sockets.get(client);
    if (open?.isOpen) return open;
    try {
      const key = client % 3 === 0 ? OTHER_KEY : KEY;
      const socket = await connect(this.#gate, path, { key, headers: { 'session-id': `websocket-${client}` } });
      this.#sockets.set(client, socket);
      return socket;
    } catch (thrown) {
      assert.ok(thrown instanceof UpgradeRefusal);
      return undefined;
    }
  }

  #oneOf<One>(list: readonly One[]): One {
    return list[this.#below(list.length)] as One;
  }

  #below(limit: number): number {
    return Math.floor(this.#random.between(0, limit));
  }
}

/** The number of running turns of a key, as its own usage answer reports it. */
async function runningOf(gate: TestGateway, key: string): Promise<unknown> {
  const { json } = await gate.send('/v1/usage', { headers: { authorization: `Bearer ${key}` } });
  return json.limits.find(({ limit_window: window }: JsonObject) => window === 'now')?.current_value;
}

describe('turns, accounts and a configuration that change at random', () => {
  for (const seed of seedsOf(1, 2, 3)) {
    test(`seed ${seed}`, async () => {
      let beginning: Draft = {};
      await using gate = await startGateway({
        upstream: { accounts: ACCOUNTS, strict: false },
        config: (draft) => {
          draft.timeouts.websocket_resume_ms = 200;
          draft.accounts[1].max_concurrent = 2;
          draft.pools[0].image_host_model = 'model-a';
          draft.keys[0].limits = { concurrent: 100, requests_per_minute: 100_000 };
          draft.keys.push({ id: 'other', pool: 'team', secret_sha256: [hash('sha256', OTHER_KEY, 'hex')] });
          beginning = structuredClone(draft);
        },
      });
      const storm = new Storm(gate, seed);
      for (let step = 0; step < STEPS; step++) await storm.step(beginning);
      storm.leave();
      await gate.reconfigure((draft) => {
        asAt(beginning, draft).keys[1].limits = { concurrent: 100 };
      });

      await until('the end of every client websocket', () => gate.websockets === 0 || undefined);
      for (const account of ACCOUNTS) await gate.upstream.sockets(account, 0);
      await until('the release of what turns held', () => gate.heldBytes + gate.bodyBytes + gate.replyBytes === 0 || undefined);
      const classes = (['stream', 'websocket', 'compact', 'http', 'image'] as const).map((name) => gate.admission(name));
      await until('the end of every turn', () => classes.every(({ running, waiting }) => running + waiting === 0) || undefined);
      assert.deepEqual(
        gate.accounts().map(({ inFlight }) => inFlight),
        [0, 0, 0],
      );

      const rows = await gate.rows();
      const attempts = await Promise.all(rows.map(({ id }) => gate.attempts(id)));
      const used = (await gate.usageRows()).reduce((sum, { requests }) => sum + requests, 0);
      assert.equal(used, attempts.filter(({ length }) => length > 0).length, 'each turn that was sent is settled once');
      assert.equal(rows.filter(({ method }) => method === 'POST').length, gate.count('requests'), 'each request has one row');
      assert.equal(new Set(rows.map(({ id }) => id)).size, rows.length);
      assert.deepEqual([await runningOf(gate, KEY), await runningOf(gate, OTHER_KEY)], [0, 0]);
      assert.deepEqual(
        gate.logged.filter((line) => line.includes('"level":"error"')),
        [],
        'no defect of the gateway itself',
      );
    });
  }
});
