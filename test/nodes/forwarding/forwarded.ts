// A forwarded websocket for tests: a client at one node whose interrupted turn still runs at another node.
import assert from 'node:assert/strict';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import type { TestGateway } from '../../support/gateway.ts';
import { turnFrame, typesOf, userMessage } from '../../support/native-frames.ts';
import { type NodesOptions, startNodes } from '../../support/nodes/nodes.ts';
import { replyEvents } from '../../support/rehearsal-replies.ts';
import { dropped, interrupted, openSession, QUESTION, wholeTurn } from '../../support/stages/interrupted-turns.ts';
import { until } from '../../support/until.ts';
import type { TestSocket } from '../../support/websocket.ts';

/** Connects a client at `b` whose interrupted turn still runs at `a`, five frames after its start. */
export async function forwarded(options: NodesOptions = {}) {
  const nodes = await startNodes(['a', 'b'], options);
  const { a, b } = nodes;
  await dropped(a, await interrupted(a, 4));
  const socket = await openSession(b);
  socket.send(turnFrame('t1', QUESTION));
  await until('the replay', () => (socket.frames.length >= 5 ? true : undefined));
  const stack = new AsyncDisposableStack();
  stack.use(nodes);
  stack.use(socket);
  return { a, b, nodes, socket, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Asserts the rest of that turn. */
export async function completed(a: TestGateway, socket: TestSocket): Promise<void> {
  a.upstream.release('north');
  assert.deepEqual(typesOf(await socket.rest()), wholeTurn);
}

/**
 * Makes the client send a turn and read nothing of its large reply, until both nodes hold more than a megabyte of it.
 * @param last the events after the deltas
 */
export async function unread({ a, b, socket }: Awaited<ReturnType<typeof forwarded>>, ...last: readonly JsonObject[]): Promise<void> {
  const words = 'word '.repeat(400_000);
  const deltas = Array.from({ length: 20 }, (_, i) => ({ type: 'response.output_text.delta', output_index: 0, delta: `${i} ${words}` }));
  a.upstream.next('north', replyEvents([{ type: 'response.created', response: { id: 'resp_long' } }, ...deltas, ...last]));
  socket.pause();
  socket.send(turnFrame('t2', [userMessage('much')]));
  await until('held replies', () => (a.heldBytes > 1_048_576 && b.heldBytes > 1_048_576 ? true : undefined));
}

export const errorOf = ([frame]: readonly JsonObject[]): unknown => [frame?.status, (frame?.error as JsonObject | undefined)?.code];

export const reasonsOf = async (gate: TestGateway): Promise<readonly unknown[]> =>
  (await gate.rows()).flatMap(({ reason_class, status, code }) => (reason_class ? [[reason_class, status, code]] : []));
