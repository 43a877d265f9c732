// Many websocket clients whose accounts and connections fail at random: every turn ends exactly once, and nothing stays behind.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { SeededRandom } from '../../simulation/seeded-random.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { NATIVE_SOCKET, PUBLIC_SOCKET, turnFrame, userMessage } from '../../support/native-frames.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { seedsOf } from '../../support/sample.ts';
import { until } from '../../support/until.ts';
import { connect, type TestSocket } from '../../support/websocket.ts';

const CLIENTS = 12;
const STEPS = 12;

/** Faults of the accounts; most entries are no fault. */
const SCRIPTS = [
  ...Array.from({ length: 12 }, () => 'steady'),
  'refuse 500',
  'refuse 429 retry 1',
  'refuse 400 invalid_value',
  'refuse 401',
  'refuse inside',
  'refuse inside as error after 0 events',
  'cut before headers',
  'cut after 2 events',
  'reset after 6 events',
  'cut after 700 bytes',
  'close 1011 after 7 events',
  'close 1001 after 1000 events',
  'connection limit',
  'anchor lost',
  'frame too large',
  'binary frame 5',
  'malformed event 6',
  'malformed event 4 as array',
  'no terminal',
  'drip 300 bytes',
  'stall after 5 events for 3 ms',
  'refuse upgrade 503',
  'refuse upgrade 429 retry 1',
  'reset upgrade',
] as const;

/** A client that runs turn after turn on one websocket after another. */
class StormyClient {
  /** The ids of the replies that it saw to their end. */
  readonly completed = new Set<string>();
  readonly #gate: TestGateway;
  readonly #random: SeededRandom;
  readonly #path: string;
  readonly #session: string;
  #socket: TestSocket | undefined;
  #anchor: string | undefined;
  #lost: JsonObject | undefined;
  #turns = 0;

  constructor(gate: TestGateway, seed: number, number: number) {
    this.#gate = gate;
    this.#random = new SeededRandom(seed * 1_000 + number);
    this.#path = number % 2 === 0 ? NATIVE_SOCKET : PUBLIC_SOCKET;
    this.#session = `session-${number}`;
  }

  async step(): Promise<void> {
    const socket = await this.#connected();
    const frame = this.#frame();
    const what = this.#below(10);
    if (what === 0) socket.send('no JSON');
    if (what === 1) socket.send({ type: 'session.update' });
    socket.send(frame);
    if (what === 2) {
      // The client leaves at any phase of the turn.
      await socket.next().catch(() => undefined);
      this.#lose(frame);
      return;
    }
    if (what === 3) socket.send({ type: 'response.create', ...turnBody('one more') });
    if (what === 0) assert.equal((await socket.next()).status, 400);
    await this.#end(socket);
    if (what === 3 && socket.isOpen) await this.#end(socket);
    if (what === 4) this.#lose(undefined);
  }

  leave(): void {
    this.#socket?.terminate();
  }

  async #connected(): Promise<TestSocket> {
    if (this.#socket?.isOpen) return this.#socket;
    this.#anchor = undefined;
    this.#socket = await connect(this.#gate, this.#path, { headers: { 'session-id': this.#session } });
    return this.#socket;
  }

  /** The frame of an interrupted turn, of a turn that continues the last one, or of a new turn. */
  #frame(): JsonObject {
    const lost = this.#lost;
    this.#lost = undefined;
    if (lost && this.#below(3) > 0) return lost;
    this.#turns += 1;
    const anchor = this.#below(2) === 0 && this.#anchor !== undefined ? { previous_response_id: this.#anchor } : {};
    const generate = this.#below(8) === 0 ? { generate: false } : {};
    return {
      ...turnFrame(`${this.#session}-${this.#turns}`, [userMessage(`write ${1 + this.#below(300)} words`)]),
      ...anchor,
      ...generate,
    };
  }

  /** Waits for the end of a turn: a terminal frame, an error frame, or the end of the connection. */
  async #end(socket: TestSocket): Promise<void> {
    const frames = await socket.rest().catch((thrown: Error) => {
      assert.ok(!socket.isOpen, thrown.message);
      return [];
    });
    const last = frames.at(-1);
    if (last?.type === 'error') assert.equal(typeof last.status, 'number');
    const { id } = (last?.response ?? {}) as { readonly id?: string };
    this.#anchor = last?.type === 'response.completed' ? id : undefined;
    if (this.#anchor !== undefined) this.completed.add(this.#anchor);
  }

  #below(limit: number): number {
    return Math.floor(this.#random.between(0, limit));
  }

  #lose(frame: JsonObject | undefined): void {
    this.#socket?.terminate();
    this.#socket = undefined;
    this.#lost = frame && 'previous_response_id' in frame ? undefined : frame;
  }
}

describe('clients and accounts that fail at random', () => {
  for (const seed of seedsOf(1, 2, 3, 4)) {
    test(`seed ${seed}`, async () => {
      const random = new SeededRandom(seed);
      await using gate = await startGateway({
        upstream: { accounts: ['north', 'south', 'west'], strict: false },
        config: (draft) => {
          draft.timeouts.websocket_resume_ms = 1_000;
        },
      });
      const clients = Array.from({ length: CLIENTS }, (_, number) => new StormyClient(gate, seed, number));
      for (let step = 0; step < STEPS; step += 1) {
        for (const account of ['north', 'south', 'west', 'north', 'south', 'west', 'north', 'south', 'west']) {
          const script = SCRIPTS[Math.floor(random.between(0, SCRIPTS.length))] ?? 'steady';
          if (script.includes('upgrade')) gate.upstream.nextUpgrade(account, script);
          else gate.upstream.next(account, script);
        }
        gate.heal();
        await Promise.all(clients.map((client) => client.step()));
      }
      for (const client of clients) client.leave();
      await until('the end of every client websocket', () => gate.websockets === 0 || undefined);
      for (const account of ['north', 'south', 'west']) await gate.upstream.sockets(account, 0);
      assert.deepEqual(
        gate.accounts().map(({ inFlight }) => inFlight),
        [0, 0, 0],
      );
      await until('the release of what turns held', () => gate.heldBytes === 0 || undefined);
      const errors = gate.logged.filter((line) => line.includes('"level":"error"'));
      assert.deepEqual(errors, [], 'no defect of the gateway itself');
      const rows = (await gate.rows()).filter(({ method }) => method === 'WS');
      assert.equal(new Set(rows.map(({ id }) => id)).size, rows.length);
      const ended = rows.filter(({ outcome }) => outcome === 'completed').length;
      const seen = clients.reduce((sum, { completed }) => sum + completed.size, 0);
      assert.ok(ended >= seen, `${seen} replies were seen to their end, and ${ended} have rows`);
    });
  }
});
