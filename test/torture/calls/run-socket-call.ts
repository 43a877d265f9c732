// Runs the turns of one call on a websocket, and checks how each of them ended for its client.
import { isObject, type JsonObject } from '../../../proxy/turn/json/json.ts';
import { connect, type TestSocket, UpgradeRefusal } from '../../support/websocket.ts';
import { expect } from '../finding.ts';
import type { Lane } from '../stage/lane.ts';
import type { SocketCall } from './call.ts';
import { type CallOptions, tokensOf } from './run-call.ts';

/** How one turn ended: with its terminal event, with an error frame, with a close of the connection, or with a refused upgrade. */
export interface SocketTurn {
  readonly end: 'terminal' | 'error' | 'closed' | 'refused';
  readonly frames: readonly JsonObject[];
  readonly code?: number;
}

/** Runs the turns up to the first one that did not complete. */
export async function runSocketCall(
  lane: Lane,
  { path, surface, frames }: SocketCall,
  { plan, said = 'as ever' }: CallOptions = {},
): Promise<readonly SocketTurn[]> {
  lane.exchanges.next(plan);
  const turns: SocketTurn[] = [];
  let socket: TestSocket;
  try {
    socket = await connect(lane, path, { key: lane.keyFor(said) });
  } catch (thrown) {
    if (!(thrown instanceof UpgradeRefusal)) throw thrown;
    return [{ end: 'refused', frames: [], code: thrown.status }];
  }
  try {
    let previous: string | undefined;
    for (const frameOf of frames) {
      const turn = await turnOn(socket, frameOf(previous));
      turns.push(turn);
      checkTurn(surface, turn);
      const last = turn.frames.at(-1);
      if (turn.end !== 'terminal' || last?.type !== 'response.completed' || !isObject(last.response)) break;
      previous = typeof last.response.id === 'string' ? last.response.id : undefined;
      const tokens = said === 'spoilt' ? undefined : tokensOf(last.response);
      if (tokens) {
        lane.frames.turns += 1;
        lane.frames.input += tokens[0];
        lane.frames.output += tokens[1];
      }
    }
    return turns;
  } finally {
    socket.terminate();
  }
}

async function turnOn(socket: TestSocket, frame: JsonObject): Promise<SocketTurn> {
  const from = socket.frames.length;
  socket.send({ type: 'response.create', ...frame });
  try {
    await socket.rest();
  } catch (thrown) {
    if (socket.isOpen) throw thrown;
    const { code } = await socket.closed;
    return { end: 'closed', frames: socket.frames.slice(from), code };
  }
  const frames = socket.frames.slice(from);
  return { end: frames.at(-1)?.type === 'error' ? 'error' : 'terminal', frames };
}

/** @throws Finding */
function checkTurn(surface: SocketCall['surface'], { end, frames, code }: SocketTurn): void {
  // Only a native connection has no other way to report that a reply broke off.
  if (end === 'closed')
    expect(surface === 'native' && code === 1011, () => `close ${code} on the ${surface} websocket behind ${JSON.stringify(frames)}`);
  const last = frames.at(-1);
  if (end === 'error') {
    const { status, error } = last ?? {};
    expect(typeof status === 'number' && status >= 400, () => `an error frame of status ${JSON.stringify(status)}`);
    // A native client gets an account's refusal as it was sent.
    const isOurs = surface === 'native' || (isObject(error) && typeof error.message === 'string' && status !== 500);
    expect(isOurs, () => `an error frame that is none of ours: ${JSON.stringify(last)}`);
  }
  if (surface !== 'public') return;
  const odd = frames.find((frame) => 'malformed' in frame || 'binary' in frame);
  expect(odd === undefined, () => `a frame that is no JSON object: ${JSON.stringify(odd)}`);
  const created = frames.filter(({ type }) => type === 'response.created').length;
  expect(created <= 1, () => `${created} replies in one turn`);
}
