// A native client that loses its websocket at each frame of a recorded session, and recovers as real ones do: with a new socket, the full
// history without an anchor, the same turn id, and the finished items that it has. It always gets the complete turn.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { JsonObject } from '../../proxy/turn/json/json.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { hasWebsockets, type RecordedRequest, type RecordedTurn, recordedSessions, turnsOf } from '../support/recorded.ts';
import { replyEvents } from '../support/rehearsal-replies.ts';
import { numbersTo, sampleOf } from '../support/sample.ts';
import { connect, type TestSocket } from '../support/websocket.ts';

type Items = readonly JsonObject[];

/** The point at which a client loses its websocket; the reply of the account stalls there. */
interface Cut {
  /** Resolves when the client has received the reply up to the stall. */
  reached(socket: TestSocket): Promise<void>;
  /** Continues the reply. */
  goOn(): void;
  readonly goesOn: 'without its client' | 'with the retry';
}

/** The state that native clients keep for a session: its items in order, and the finished items of the running turn. */
class RecoveringClient {
  readonly #gate: TestGateway;
  readonly #path: string;
  readonly #headers: Readonly<Record<string, string>>;
  #socket: TestSocket | undefined;
  #history: Items = [];
  /** The response that the next frame may name on this websocket. */
  #anchor: string | undefined;

  constructor(gate: TestGateway, { path, headers }: RecordedRequest, session: string) {
    this.#gate = gate;
    this.#path = path;
    this.#headers = { ...headers, 'session-id': session, 'thread-id': session, 'x-agent-window-id': `${session}:0` };
  }

  /** Runs a turn to its end; with a cut it loses its websocket on the way. @returns the finished items from before and after the cut */
  async turn({ asked, answered }: RecordedTurn, cut: Cut | undefined): Promise<Items> {
    const { type: _, previous_response_id: named, ...frame } = asked;
    const isAnchored = named !== undefined && named === this.#anchor;
    const given = asked.input as Items;
    if (named === undefined) this.#history = [];
    const input = isAnchored ? given : [...this.#history, ...given];
    let socket = await this.#connected();
    const from = socket.frames.length;
    socket.send({ type: 'response.create', ...frame, input, ...(isAnchored ? { previous_response_id: named } : {}) });
    let finished: Items = [];
    if (cut) {
      await cut.reached(socket);
      const seen = socket.frames.slice(from);
      this.lose();
      if (cut.goesOn === 'without its client') cut.goOn();
      finished = finishedIn(seen);
      const isOver = seen.at(-1)?.type === 'response.completed';
      // A prewarm is not repeated.
      if (!isOver && frame.generate !== false) {
        socket = await this.#connected();
        socket.send({ type: 'response.create', ...frame, input: [...this.#history, ...given, ...finished] });
        if (cut.goesOn === 'with the retry') {
          await socket.ping();
          cut.goOn();
        }
        finished = [...finished, ...finishedIn(await wholeOf(socket))];
        this.#anchor = idOf(answered);
      }
    } else {
      finished = finishedIn(await wholeOf(socket));
      this.#anchor = idOf(answered);
    }
    this.#history = [...this.#history, ...given, ...finished];
    return finished;
  }

  lose(): void {
    this.#socket?.terminate();
    this.#socket = undefined;
    this.#anchor = undefined;
  }

  async #connected(): Promise<TestSocket> {
    this.#socket ??= await connect(this.#gate, this.#path, { headers: this.#headers, offersCompression: true });
    return this.#socket;
  }
}

const finishedIn = (frames: Items): Items =>
  frames.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item as JsonObject);

function idOf(frames: Items): string {
  const { id } = (frames.at(-1)?.response ?? {}) as { readonly id?: string };
  return id ?? assert.fail('no response');
}

async function wholeOf(socket: TestSocket): Promise<Items> {
  const frames = await socket.rest();
  assert.equal(frames.at(-1)?.type, 'response.completed', JSON.stringify(frames.at(-1)));
  return frames;
}

/** Frames that are held until the turn shows something; a client that is cut before that has received nothing. */
const HELD = new Set(['agent.rate_limits', 'agent.response.metadata', 'response.metadata', 'response.created']);

/** A cut after this many frames of the account. */
function cutAfter(gate: TestGateway, { answered }: RecordedTurn, frames: number, goesOn: Cut['goesOn']): Cut {
  const last = answered[frames - 1];
  return {
    async reached(socket) {
      await gate.upstream.stalled('north');
      if (last === undefined || HELD.has(String(last.type))) return;
      const wanted = JSON.stringify(last);
      do {} while (JSON.stringify(await socket.next()) !== wanted);
    },
    goOn: () => gate.upstream.release('north'),
    goesOn,
  };
}

const sessions = recordedSessions()
  .filter(hasWebsockets)
  .flatMap(({ name, models, requests }) =>
    requests
      .filter((request) => request.path.startsWith('/backend-api/') && request.frames)
      .map((request) => ({ name, models, request, turns: turnsOf(request) })),
  )
  // A lost anchor ends the recorded websocket, which is another kind of recovery.
  .filter(({ turns }) => turns.every(({ answered }) => answered.at(-1)?.type === 'response.completed'));

for (const { name, models, request, turns } of sessions) {
  describe(`the session ${name}, cut`, () => {
    let gate: TestGateway;
    before(async () => {
      gate = await startGateway({ upstream: { accounts: ['north'], models } });
    });
    after(() => gate.close());

    for (const [at, { answered }] of turns.entries()) {
      for (const goesOn of ['without its client', 'with the retry'] as const) {
        test(`at each frame of turn ${at + 1}, whose reply continues ${goesOn}`, async () => {
          for (const frames of sampleOf(numbersTo(answered.length + 1), [0, Math.ceil(answered.length / 2), answered.length])) {
            gate.upstream.clear();
            const client = new RecoveringClient(gate, request, `session-${at}-${frames}-${goesOn.length}`);
            for (const [index, turn] of turns.entries()) {
              const stall = index === at ? [{ kind: 'stall', at: { events: frames } } as const] : [];
              gate.upstream.next('north', [replyEvents(turn.answered), ...stall]);
              const finished = await client.turn(turn, index === at ? cutAfter(gate, turn, frames, goesOn) : undefined);
              assert.deepEqual(finished, finishedIn(turn.answered), `${frames} frames, turn ${index + 1}`);
            }
            assert.equal(gate.upstream.turns().length, turns.length, `${frames} frames: one dispatch a turn`);
            client.lose();
          }
        });
      }
    }
  });
}
