// Bodies and frames whose JSON differs from that of a client: depth, width, numbers above 2^53, lone surrogates, repeated names, names that
// have a meaning for the engine, and wrong types; on every row that takes JSON, and on websockets.
import type { SeededRandom } from '../../simulation/seeded-random.ts';
import { NATIVE_SOCKET, PUBLIC_SOCKET } from '../../support/native-frames.ts';
import { connect } from '../../support/websocket.ts';
import { type Attack, type Case, pick } from '../attack.ts';
import { runCall } from '../calls/run-call.ts';
import { expect, shown } from '../finding.ts';
import { type ClientBody, JSON_CALLS, ownBody, recordedBodies } from '../fuzz/client-bodies.ts';
import { changed, Members, type Node, textOf } from '../fuzz/json-text.ts';
import { mutated } from '../fuzz/mutations.ts';
import type { Lane } from '../stage/lane.ts';

/** The way to send a body, and the bodies to begin with. */
interface Target {
  readonly name: string;
  readonly bodies: readonly ClientBody[];
  send(lane: Lane, body: Node): Promise<void>;
}

export const json: Attack = {
  name: 'json',
  title: 'hostile JSON of clients',
  stage: 'ordinary',
  sample: 150,
  async cases(_stage, random) {
    return casesOf(targets(), random);
  },
};

function* casesOf(targets: readonly Target[], random: SeededRandom): Generator<Case> {
  for (let number = 0; ; number++) {
    const target = pick(targets, random);
    const body = pick(target.bodies, random);
    const tree = mutated(body.tree, random);
    yield { name: `${number}:${target.name}:${body.name}`, run: (lane) => target.send(lane, tree) };
  }
}

/** Rows that take a Responses body. */
const RESPONSES: ReadonlySet<string> = new Set(['/backend-api/agent/responses', '/backend-api/agent/responses/compact', '/v1/responses']);

function targets(): readonly Target[] {
  const recorded = recordedBodies();
  const http = JSON_CALLS.map(
    (call): Target => ({
      name: call.name,
      bodies: RESPONSES.has(call.path) ? [ownBody(call), ...recorded] : [ownBody(call)],
      send: async (lane, tree) => {
        const text = textOf(tree);
        const { answer } = await runCall(lane, { ...call, reply: 'any', body: Buffer.from(text) }, { said: 'spoilt' });
        expect(!answer.body.includes('The gateway failed unexpectedly.'), () => `an unforeseen failure of ${shown(text)}`);
      },
    }),
  );
  const sockets = [NATIVE_SOCKET, PUBLIC_SOCKET].map(
    (path): Target => ({
      name: `socket ${path}`,
      bodies: recorded,
      send: (lane, tree) => framed(lane, path, tree),
    }),
  );
  return [...http, ...sockets];
}

/** Sends the frame, and after it one that must be answered, whatever the answer to the first one was. */
async function framed(lane: Lane, path: string, tree: Node): Promise<void> {
  using socket = await connect(lane, path, { key: lane.keyFor('spoilt') });
  socket.send(textOf(changed(tree, [], asFrame) ?? null));
  socket.send(JSON.stringify({ type: 'response.create', model: 'no such model', input: [] }));
  for (;;) {
    const { type, error } = await socket.next();
    const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
    expect(code !== 'server_error', () => `an unforeseen failure of ${shown(textOf(tree))}`);
    if (type === 'error' && code === 'invalid_model') return;
  }
}

/** The frame. A value that is not an object is sent unchanged. */
const asFrame = (tree: Node): Node =>
  tree instanceof Members ? new Members([['type', 'response.create'], ...tree.entries.filter(([name]) => name !== 'type')]) : tree;
