// Replies whose JSON differs from that of a provider: wrong types in every field, missing and repeated events, names that have a meaning
// for the engine.
import { frameBytes } from '../../../proxy/base/bytes/frame-bytes.ts';
import type { SeededRandom } from '../../simulation/seeded-random.ts';
import { rawHead, rawResponse } from '../../support/network/raw-upstream.ts';
import { recordedSessions, turnsOf } from '../../support/recorded.ts';
import { eventsOf } from '../../support/rehearsal-client.ts';
import { type Attack, type Case, pick } from '../attack.ts';
import { DISPATCHED_CALLS } from '../calls/http-calls.ts';
import { runCall, runClean } from '../calls/run-call.ts';
import { runSocketCall } from '../calls/run-socket-call.ts';
import { SOCKET_CALLS } from '../calls/socket-calls.ts';
import { type Node, nodeOf, textOf } from '../fuzz/json-text.ts';
import { mutated } from '../fuzz/mutations.ts';
import type { Lane } from '../stage/lane.ts';
import type { HandAnswer } from '../wire/exchanges.ts';
import { handSocket } from '../wire/hand-socket.ts';

/** A reply without a fault, as a tree that can be changed. */
interface Reply {
  readonly name: string;
  readonly tree: Node;
  /** Runs the call that gets the changed reply. Everything that the seed decides about it is decided here. */
  attack(changed: Node, random: SeededRandom): (lane: Lane) => Promise<unknown>;
}

export const hostileEvents: Attack = {
  name: 'hostile-events',
  title: 'wrong types in every field of replies',
  stage: 'ordinary',
  sample: 150,
  async cases(stage, random) {
    const [lane] = stage.lanes;
    return casesOf([...(await httpReplies(lane)), ...socketReplies()], random);
  },
};

/** Endless cases. Each number of the seed is a different reply. */
function* casesOf(replies: readonly Reply[], random: SeededRandom): Generator<Case> {
  for (let number = 0; ; number++) {
    const reply = pick(replies, random);
    const attack = reply.attack(mutated(reply.tree, random), random);
    yield {
      name: `${number}:${reply.name}`,
      run: async (lane) => {
        await lane.restore();
        await attack(lane);
      },
    };
  }
}

/** The replies of each exchange of each call, as the rehearsal provider sends them. */
async function httpReplies(lane: Lane): Promise<readonly Reply[]> {
  const replies: Reply[] = [];
  for (const call of DISPATCHED_CALLS) {
    await runClean(lane, call);
    for (const [exchange, { reply }] of lane.exchanges.list.entries()) {
      const text = reply.toString();
      const body = text.slice(text.indexOf('\r\n\r\n') + 4);
      const isStream = /^content-type: text\/event-stream/im.test(text);
      if (!isStream && !body.startsWith('{')) continue;
      const tree = nodeOf(isStream ? eventsOf(body) : JSON.parse(body));
      const attack: Reply['attack'] = (changed) => (on) =>
        runCall(on, call, { plan: { exchange, answer: isStream ? streamOf(changed) : bodyOf(changed) }, said: 'spoilt' });
      replies.push({ name: `${call.name} ${exchange}`, tree, attack });
    }
  }
  return replies;
}

/** The replies of recorded sessions, on the websockets of both surfaces. */
function socketReplies(): readonly Reply[] {
  const turns = recordedSessions().flatMap(({ name, requests }) =>
    requests.flatMap(turnsOf).map(({ answered }, i) => ({ name: `${name} ${i}`, tree: nodeOf(answered) })),
  );
  return turns.map(({ name, tree }) => ({
    name: `sockets, ${name}`,
    tree,
    attack: (changed, random) => {
      const frames = elementsOf(changed).map((event) => frameBytes([textOf(event)]));
      const answer = handSocket(Buffer.concat(frames), { ends: random.next() < 0.7 });
      const call = pick(SOCKET_CALLS, random);
      return (lane) => runSocketCall(lane, call, { plan: { exchange: 0, answer }, said: 'spoilt' });
    },
  }));
}

const elementsOf = (tree: Node): readonly Node[] => (Array.isArray(tree) ? tree : [tree]);

const streamOf =
  (events: Node): HandAnswer =>
  (_writer, gateway) => {
    const text = elementsOf(events).map((event) => `data: ${textOf(event)}\n\n`);
    gateway.end(`${rawHead(200, { 'content-type': 'text/event-stream' })}${text.join('')}`);
  };

const bodyOf =
  (json: Node): HandAnswer =>
  (_writer, gateway) =>
    void gateway.end(rawResponse(200, textOf(json)));
