// Hostile frames of providers on a websocket: at the beginning of a reply, in its head, and after its first text.
import type { SeededRandom } from '../../simulation/seeded-random.ts';
import { type Attack, type Case, permutation } from '../attack.ts';
import type { SocketCall } from '../calls/call.ts';
import { runSocketCall } from '../calls/run-socket-call.ts';
import { SOCKET_CALLS } from '../calls/socket-calls.ts';
import { SERVER_FRAMES, SERVER_PREFIXES, type ServerFrames } from '../corpus/server-frames.ts';
import { expect } from '../finding.ts';
import type { Lane } from '../stage/lane.ts';
import { handSocket } from '../wire/hand-socket.ts';

/** How a connection continues after the frames. */
const ENDS = ['silence', 'end'] as const;
/** How often a case has silence after its frames, which lasts as long as a deadline. */
const SILENCE_EVERY = 4;

export const hostileFrames: Attack = {
  name: 'hostile-frames',
  title: 'hostile websocket frames of providers',
  stage: 'ordinary',
  sample: 80,
  async cases(_stage, random) {
    return casesOf(random);
  },
};

function* casesOf(random: SeededRandom): Generator<Case> {
  const prefixes = Object.entries(SERVER_PREFIXES);
  const counts = [SERVER_FRAMES.length, prefixes.length, ENDS.length, SOCKET_CALLS.length];
  for (const number of permutation(
    counts.reduce((all, count) => all * count, 1),
    random,
  )) {
    let left = number;
    const next = (count: number): number => {
      const index = left % count;
      left = Math.floor(left / count);
      return index;
    };
    const call = SOCKET_CALLS[next(SOCKET_CALLS.length)] as SocketCall;
    const end = ENDS[next(ENDS.length)] as (typeof ENDS)[number];
    const [where, prefix] = prefixes[next(prefixes.length)] as (typeof prefixes)[number];
    const { name, bytes } = SERVER_FRAMES[next(SERVER_FRAMES.length)] as ServerFrames;
    if (end === 'silence' && number % SILENCE_EVERY !== 0) continue;
    yield {
      name: `${call.name}:${name}:${where}:${end}`,
      run: (lane) =>
        answered(lane, call, { bytes: Buffer.concat([prefix, bytes]), ends: end === 'end', isShown: where === 'behind a delta' }),
    };
  }
}

interface Answered {
  readonly bytes: Buffer;
  readonly ends: boolean;
  readonly isShown: boolean;
}

/** Checks that the turn ends once for its client, and that no other account is tried after something was shown. */
async function answered(lane: Lane, call: SocketCall, { bytes, ends, isShown }: Answered): Promise<void> {
  await lane.restore();
  const answer = handSocket(bytes, { ends });
  const turns = await runSocketCall(lane, call, { plan: { exchange: 0, answer }, said: 'spoilt' });
  // A second turn sends another request.
  if (turns.length > 1) return;
  const asked = lane.exchanges.list.length;
  expect(!isShown || asked <= 1, () => `${asked - 1} requests to accounts behind a reply that was shown`);
}
