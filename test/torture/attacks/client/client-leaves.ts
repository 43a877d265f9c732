// Clients that leave while their account has sent its reply up to some byte, and clients that read slowly, over HTTP and on websockets.
import { setTimeout as sleep } from 'node:timers/promises';
import type { SeededRandom } from '../../../simulation/seeded-random.ts';
import { until } from '../../../support/until.ts';
import { type Attack, type Case, eachAt, interleaved } from '../../attack.ts';
import { type HttpCall, requestOf, type SocketCall } from '../../calls/call.ts';
import { DISPATCHED_CALLS } from '../../calls/http-calls.ts';
import { runClean } from '../../calls/run-call.ts';
import { runSocketCall } from '../../calls/run-socket-call.ts';
import { SOCKET_CALLS } from '../../calls/socket-calls.ts';
import { text } from '../../client/frames.ts';
import { rawCall } from '../../client/raw-call.ts';
import { upgradeRequest } from '../../client/upgrade.ts';
import { expect } from '../../finding.ts';
import type { Lane } from '../../stage/lane.ts';
import { DEADLINES, OPERATOR_TOKEN } from '../../stage/settings.ts';

const LEAVES = ['end', 'reset'] as const;
/** The time in which the request must have ended. It is before the deadline that would end a request to a silent account. */
const ENDED_MS = DEADLINES.idle - 200;

export const clientLeaves: Attack = {
  name: 'client-leaves',
  title: 'clients that leave at each byte of an account’s reply',
  stage: 'ordinary',
  sample: 80,
  async cases(stage, random) {
    const [lane] = stage.lanes;
    const sources: Iterable<Case>[] = [];
    for (const call of DISPATCHED_CALLS) {
      await runClean(lane, call);
      const replies = lane.exchanges.list.map(({ passed }, exchange) => casesOf(httpClient(call), { exchange, bytes: passed }, random));
      sources.push(interleaved(replies));
    }
    for (const call of SOCKET_CALLS.filter(({ frames }) => frames.length === 1)) {
      await runSocketCall(lane, call);
      sources.push(casesOf(socketClient(call), { exchange: 0, bytes: lane.exchanges.list[0]?.passed ?? 0 }, random));
    }
    return interleaved(sources);
  },
};

interface Client {
  readonly name: string;
  pieces(lane: Lane): readonly Buffer[];
}

const httpClient = (call: HttpCall): Client => ({
  name: call.name,
  pieces: (lane) => [requestOf(call, { key: lane.keyFor('spoilt'), operatorToken: OPERATOR_TOKEN })],
});

const socketClient = ({ name, path, frames: [first] }: SocketCall): Client => ({
  name,
  pieces: (lane) => [upgradeRequest(path, lane.keyFor('spoilt')), text(JSON.stringify({ type: 'response.create', ...first?.(undefined) }))],
});

interface Target {
  readonly exchange: number;
  readonly bytes: number;
}

function* casesOf(client: Client, { exchange, bytes }: Target, random: SeededRandom): Generator<Case> {
  for (const [leaves, at] of eachAt(LEAVES, bytes, random)) {
    const name = `${client.name} ${exchange}:${leaves} at ${at} of the reply`;
    yield { name, run: (lane) => left(lane, client, { exchange, at, leaves }) };
  }
}

interface Leaving {
  readonly exchange: number;
  /** The byte of the reply before which the account falls silent. The client then leaves. */
  readonly at: number;
  readonly leaves: (typeof LEAVES)[number];
}

/** Checks that the request to the account ends with the client, and that no other one is made. */
async function left(lane: Lane, { pieces }: Client, { exchange, at, leaves }: Leaving): Promise<void> {
  await lane.endCooldowns();
  lane.exchanges.next({ exchange, fault: { kind: 'stall', at, byte: 0 } });
  const stalled = (): true | undefined => lane.exchanges.list[exchange]?.broken !== undefined || undefined;
  const leavesWhen = until('the account to fall silent', stalled).then(() => sleep(2));
  await rawCall(lane.url, { pieces: pieces(lane), leaves, leavesWhen, answers: Number.POSITIVE_INFINITY });
  await leavesWhen;
  const silent = lane.exchanges.list[exchange];
  await until('the request to the account to end', () => silent?.isOver || undefined, ENDED_MS);
  const { length } = lane.exchanges.list;
  expect(length === exchange + 1, () => `${length - exchange - 1} requests to accounts behind a client that left`);
}
