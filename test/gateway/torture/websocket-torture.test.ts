// A reply on an upstream websocket that breaks off at every byte, at every frame and in every way: clients get complete turns, clean
// errors, or the ending of their surface. After any output no account gets the turn again, and every turn leaves one row.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { frameBytes } from '../../../proxy/base/bytes/frame-bytes.ts';
import type { Fault } from '../../../proxy/rehearsal/faults/fault.ts';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { ShiftedClock } from '../../support/clocks/shifted-clock.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { NATIVE_SOCKET, PUBLIC_SOCKET, responseId, typesOf } from '../../support/native-frames.ts';
import { replyBytes, replyEvents, turnBody } from '../../support/rehearsal-replies.ts';
import { numbersTo, sampleOf } from '../../support/sample.ts';
import { until } from '../../support/until.ts';
import { connect, type TestSocket } from '../../support/websocket.ts';

const PATHS = { native: NATIVE_SOCKET, public: PUBLIC_SOCKET } as const;
type Surface = keyof typeof PATHS;

const EVENTS: readonly JsonObject[] = [
  { type: 'response.created', response: {} },
  { type: 'response.output_text.delta', delta: 'é' },
  { type: 'response.completed', response: { id: 'r', status: 'completed' } },
];
const SHOWN = EVENTS.map(({ type }) => type as string);

/** Where each frame ends on the wire. */
const ENDS = EVENTS.reduce<readonly number[]>(
  (ends, event) => ends.concat((ends.at(-1) ?? 0) + frameBytes([JSON.stringify(event)]).length),
  [],
);
const [LIFECYCLE = 0, VISIBLE = 0, WHOLE = 0] = ENDS;
const BYTES = sampleOf(numbersTo(WHOLE + 1), [0, ...ENDS.flatMap((end) => [end - 1, end])]);

/** The turn as a client saw it. */
interface Seen {
  /** The types of the frames, without the metadata event that the gateway adds on the backend surface. */
  readonly types: readonly string[];
  /** The code of the close; undefined if the connection stayed open. */
  readonly closed: number | undefined;
  readonly error: JsonObject | undefined;
  /** The number of turns that reached the accounts. */
  readonly dispatches: number;
}

async function see(gate: TestGateway, socket: TestSocket, body: JsonObject): Promise<Seen> {
  const before = gate.upstream.turns().length;
  const from = socket.frames.length;
  let closed: number | undefined;
  socket.send({ type: 'response.create', ...body });
  try {
    await socket.rest();
  } catch (thrown) {
    if (socket.isOpen) throw thrown;
    ({ code: closed } = await socket.closed);
  }
  const frames = socket.frames.slice(from);
  const types = typesOf(frames).filter((type) => type !== 'agent.response.metadata');
  const last = frames.at(-1);
  const error = last?.type === 'error' ? { ...(last.error as JsonObject), status: last.status ?? null } : undefined;
  return { types, closed, error, dispatches: gate.upstream.turns().length - before };
}

type Row = readonly [status: number, outcome: string, code: string | null];
const COMPLETED: Row = [200, 'completed', null];

/** A failure of the upstream connection if no other account can take the turn. */
interface Death {
  /** Whether an earlier turn was answered on the same websocket. */
  readonly isReused: boolean;
  /** Whether the turn continues the response of that turn. */
  readonly isAnchored: boolean;
}

/** Asserts the expected reply of the surface for this many bytes. @returns the turn's row */
function assertDeath(surface: Surface, bytes: number, { isReused, isAnchored }: Death, seen: Seen): Row {
  const { types, closed, error, dispatches } = seen;
  if (bytes >= WHOLE) {
    assert.deepEqual([types, closed, dispatches], [SHOWN, undefined, 1]);
    return COMPLETED;
  }
  if (bytes >= VISIBLE) {
    assert.equal(dispatches, 1, 'no second dispatch after anything was shown');
    if (surface === 'native') assert.deepEqual([types, closed], [SHOWN.slice(0, 2), 1011]);
    else assert.deepEqual([types, closed, error?.status], [[...SHOWN.slice(0, 2), 'error'], undefined, 502]);
    return [200, 'cut', surface === 'native' ? 'upstream_error' : 'server_error'];
  }
  assert.equal(closed, undefined);
  if (isAnchored) {
    assert.deepEqual([types, error?.status, error?.code, dispatches], [['error'], 400, 'previous_response_not_found', 1]);
    return [400, 'failed', 'previous_response_not_found'];
  }
  if (isReused && bytes < LIFECYCLE) {
    assert.deepEqual([types.at(-1), dispatches], ['response.completed', 2], 'an idle connection that died is opened again');
    return COMPLETED;
  }
  assert.deepEqual([types, error?.status, error?.code, dispatches], [['error'], 502, 'upstream_error', 1]);
  return [502, 'failed', 'upstream_error'];
}

const cutAt = (bytes: number): Fault => ({ kind: 'cut', at: { bytes }, how: bytes % 5 === 0 ? 'reset' : 'close' });

describe('an upstream websocket that is cut', () => {
  const deaths: Readonly<Record<string, Death>> = {
    'a new one': { isReused: false, isAnchored: false },
    'one that had a turn': { isReused: true, isAnchored: false },
    'one that had the response that the turn continues': { isReused: true, isAnchored: true },
  };
  for (const surface of Object.keys(PATHS) as Surface[]) {
    for (const [title, death] of Object.entries(deaths)) {
      test(`after each byte of a reply, ${title}: ${surface}`, async () => {
        await using gate = await startGateway({ upstream: { accounts: ['north'] } });
        const expected: Row[] = [];
        for (const bytes of BYTES) {
          using socket = await connect(gate, PATHS[surface]);
          let anchor: Json | undefined;
          if (death.isReused) {
            anchor = responseId(await socket.turn(turnBody('hello')));
            expected.push(COMPLETED);
          }
          gate.heal();
          gate.upstream.next('north', [replyEvents(EVENTS), cutAt(bytes)]);
          const body = turnBody('hello', death.isAnchored && anchor !== undefined ? { previous_response_id: anchor } : {});
          const seen = await see(gate, socket, body);
          expected.push(assertDeath(surface, bytes, death, seen));
          if (!socket.isOpen) continue;
          gate.heal();
          const next = await see(gate, socket, turnBody('again'));
          assert.deepEqual([next.types.at(-1), next.dispatches], ['response.completed', 1], 'the connection goes on');
          expected.push(COMPLETED);
        }
        assert.deepEqual(await rowsOf(gate), expected.slice(-1_000), 'one row a turn');
        await gate.upstream.sockets('north', 0);
      });
    }

    test(`fails over before anything was shown, and never after: ${surface}`, async () => {
      const clock = new ShiftedClock();
      await using gate = await startGateway({ clock });
      gate.stopOwnCalls();
      for (const bytes of BYTES) {
        // The retry budget is full, and all accounts are healthy.
        clock.setAhead(20_000);
        gate.heal();
        using socket = await connect(gate, PATHS[surface]);
        gate.upstream.clear();
        gate.upstream.next('north', [replyEvents(EVENTS), cutAt(bytes)]);
        const { types, dispatches } = await see(gate, socket, turnBody('hello'));
        assert.equal(gate.upstream.turns('south').length, bytes < VISIBLE ? 1 : 0);
        assert.equal(dispatches, bytes < VISIBLE ? 2 : 1);
        if (bytes < VISIBLE) assert.equal(types.filter((type) => type === 'response.created').length, 1, 'nothing of the first attempt');
        if (bytes < VISIBLE || bytes >= WHOLE) assert.equal(types.at(-1), 'response.completed');
      }
    });
  }
});

/** The faults of an account before, in or after a frame; frames count from 0. */
const FAULTS: Readonly<Record<string, (frame: number) => Fault>> = {
  ...Object.fromEntries(
    [1000, 1001, 1008, 1011, 1012, 1013, 4000].map((code) => [
      `a close with ${code}`,
      (after: number): Fault => ({ kind: 'close', code, after }),
    ]),
  ),
  'a binary frame': (frame) => ({ kind: 'binary-frame', event: frame + 1 }),
  'a frame that is no JSON': (frame) => ({ kind: 'malformed', event: frame + 1 }),
  'a frame that is no object': (frame) => ({ kind: 'malformed', event: frame + 1, as: 'array' }),
  'response.failed': (after) => ({ kind: 'refuse-inside', after }),
  'an error event': (after) => ({ kind: 'refuse-inside', as: 'error', after }),
  'the connection limit': () => ({ kind: 'connection-limit' }),
  'a close that blames the size of the frame': () => ({ kind: 'frame-too-large' }),
  'no terminal event': () => ({ kind: 'no-terminal' }),
  'the end of the connection behind the reply': () => ({ kind: 'cut', at: { events: EVENTS.length } }),
};

/** Each fault at each frame, on a new connection and on a used one; on an ordinary day each fault at one frame, in rotation. */
const crosses = Object.keys(FAULTS).flatMap((title, i) =>
  [false, true].flatMap((isReused, j) =>
    EVENTS.map((_, frame) => ({ title, isReused, frame, isInTurn: j * EVENTS.length + frame === i % (2 * EVENTS.length) })),
  ),
);

describe('an account that fails on a websocket', () => {
  for (const surface of Object.keys(PATHS) as Surface[]) {
    const chosen = sampleOf(
      crosses,
      crosses.filter(({ isInTurn }) => isInTurn),
    );
    for (const [title, faultAt] of Object.entries(FAULTS)) {
      test(`by ${title}, at each frame: ${surface}`, async () => {
        await using gate = await startGateway();
        for (const { isReused, frame } of chosen.filter((cross) => cross.title === title)) {
          gate.heal();
          using socket = await connect(gate, PATHS[surface]);
          if (isReused) await socket.turn(turnBody('hello'));
          gate.upstream.next('north', replyOf(faultAt(frame)));
          const rows = (await rowsOf(gate)).length;
          const { types, closed, error, dispatches } = await see(gate, socket, turnBody('hello'));
          const last = types.at(-1);
          const isWhole = last === 'response.completed' || last === 'response.failed';
          assert.ok(isWhole || error !== undefined || closed === 1011, `${types} ${closed}`);
          if (error !== undefined) assert.equal(typeof error.status, 'number');
          if (error !== undefined || closed !== undefined) assert.ok(dispatches <= 2);
          // The text of the first attempt together with an answer of another attempt would be two replies.
          const isOfFirst = socket.frames.some(({ delta }) => delta === 'é');
          if (isOfFirst) assert.equal(dispatches, 1, 'no second dispatch after anything was shown');
          assert.ok(types.filter((type) => type === 'response.created').length <= 1);
          // A turn that continued over HTTP ends with its stream, which is after the client has received the last event.
          await until('the row of the turn', async () => (await rowsOf(gate)).length > rows || undefined);
          assert.equal((await rowsOf(gate)).length, rows + 1, 'one row a turn');
        }
        await gate.upstream.sockets('north', 0);
        await gate.upstream.sockets('south', 0);
        assert.deepEqual([gate.account('north').inFlight, gate.account('south').inFlight], [0, 0]);
      });
    }
  }
});

/**
 * The small reply with a fault. Faults in the content of an ordinary answer have no scripted reply. A changed terminal event also ends its
 * connection.
 */
function replyOf(fault: Fault): readonly Fault[] {
  if (fault.kind === 'refuse-inside' || fault.kind === 'no-terminal') return [{ kind: 'no-preamble' }, fault];
  return fault.kind === 'malformed'
    ? [replyEvents(EVENTS), fault, { kind: 'cut', at: { events: EVENTS.length } }]
    : [replyEvents(EVENTS), fault];
}

test('a frame that is not a text frame is a clean failure, and no other account is asked', async () => {
  await using gate = await startGateway();
  const faults: readonly (readonly Fault[])[] = [
    [replyBytes(Buffer.from([0x7b, 0xff, 0x7d]))],
    [replyEvents(EVENTS), { kind: 'binary-frame', event: 1 }],
  ];
  for (const surface of Object.keys(PATHS) as Surface[]) {
    using socket = await connect(gate, PATHS[surface]);
    for (const fault of faults) {
      gate.heal();
      gate.upstream.next('north', fault);
      const { types, error, dispatches } = await see(gate, socket, turnBody('hello'));
      assert.deepEqual([types, error?.status, error?.code, dispatches], [['error'], 502, 'upstream_error', 1]);
    }
    gate.heal();
    assert.equal((await see(gate, socket, turnBody('again'))).types.at(-1), 'response.completed');
  }
});

async function rowsOf(gate: TestGateway): Promise<readonly Row[]> {
  return (await gate.rows()).filter(({ method }) => method === 'WS').map(({ status, outcome, code }) => [status, outcome, code] as const);
}

test('a reply in two pieces is the same to its client, wherever it is split', async () => {
  await using gate = await startGateway({ upstream: { accounts: ['north'] } });
  for (const surface of Object.keys(PATHS) as Surface[]) {
    using socket = await connect(gate, PATHS[surface]);
    gate.upstream.next('north', replyEvents(EVENTS));
    const whole = await socket.turn(turnBody('hello'));
    for (const bytes of BYTES.filter((count) => count > 0 && count < WHOLE)) {
      gate.upstream.next('north', [replyEvents(EVENTS), { kind: 'stall', at: { bytes }, ms: 0 }]);
      assert.deepEqual(withoutTurnStates(await socket.turn(turnBody('hello'))), withoutTurnStates(whole));
    }
    for (const bytes of [1, 2, 3, 7, 64]) {
      gate.upstream.next('north', [replyEvents(EVENTS), { kind: 'drip', bytes }]);
      assert.deepEqual(withoutTurnStates(await socket.turn(turnBody('hello'))), withoutTurnStates(whole));
    }
  }
});

/** The frames without turn state: the first turn has that of the account's upgrade. */
const withoutTurnStates = (frames: readonly JsonObject[]): readonly JsonObject[] =>
  frames.map(
    (frame) => JSON.parse(JSON.stringify(frame, (name, value) => (name === 'x-agent-turn-state' ? undefined : value))) as JsonObject,
  );

test('a client that leaves while the reply is stalled, at any byte, ends the turn and the upstream websocket', async () => {
  await using gate = await startGateway({ upstream: { accounts: ['north'] } });
  let turns = 0;
  for (const surface of Object.keys(PATHS) as Surface[]) {
    for (const bytes of BYTES.filter((count) => count < WHOLE)) {
      gate.upstream.clear();
      const socket = await connect(gate, PATHS[surface]);
      gate.upstream.next('north', [replyEvents(EVENTS), { kind: 'stall', at: { bytes } }]);
      socket.send({ type: 'response.create', ...turnBody('hello') });
      const [turn] = await gate.upstream.arrived(1);
      await gate.upstream.stalled('north');
      socket.terminate();
      assert.equal(await turn?.closed, 'left');
      await gate.upstream.sockets('north', 0);
      turns += 1;
    }
  }
  const rows = await rowsOf(gate);
  assert.equal(rows.length, turns);
  for (const [status] of rows) assert.equal(status, 499);
  assert.equal(gate.account('north').inFlight, 0);
});
