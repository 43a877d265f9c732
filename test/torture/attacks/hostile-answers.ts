// Hostile answers of providers. Each answer of the list is given to each request that a call makes, and to the upgrade of each websocket.
import type { SeededRandom } from '../../simulation/seeded-random.ts';
import { type Attack, type Case, permutation } from '../attack.ts';
import { DISPATCHED_CALLS } from '../calls/http-calls.ts';
import { runCall } from '../calls/run-call.ts';
import { runSocketCall } from '../calls/run-socket-call.ts';
import { SOCKET_CALLS } from '../calls/socket-calls.ts';
import { HOSTILE_ANSWERS, type HostileAnswer } from '../corpus/hostile-answers.ts';
import type { Lane } from '../stage/lane.ts';
import type { HandAnswer } from '../wire/exchanges.ts';

export const hostileAnswers: Attack = {
  name: 'hostile-answers',
  title: 'hostile answers over HTTP',
  stage: 'ordinary',
  // Limited, because endless answers take as long as the provider can send.
  lanes: 4,
  sample: 80,
  async cases(_stage, random) {
    const http = DISPATCHED_CALLS.flatMap((call) =>
      Array.from(
        { length: call.exchanges },
        (_, exchange): Target => ({
          name: `${call.name} ${exchange}`,
          run: (lane, answer) => runCall(lane, call, { plan: { exchange, answer }, said: 'spoilt' }),
        }),
      ),
    );
    const sockets = SOCKET_CALLS.map(
      (call): Target => ({
        name: call.name,
        run: (lane, answer) => runSocketCall(lane, call, { plan: { exchange: 0, answer }, said: 'spoilt' }),
      }),
    );
    return casesOf([...http, ...sockets], random);
  },
};

interface Target {
  readonly name: string;
  run(lane: Lane, answer: HandAnswer): Promise<unknown>;
}

function* casesOf(targets: readonly Target[], random: SeededRandom): Generator<Case> {
  for (const number of permutation(targets.length * HOSTILE_ANSWERS.length, random)) {
    const target = targets[number % targets.length] as Target;
    const { name, answer } = HOSTILE_ANSWERS[Math.floor(number / targets.length)] as HostileAnswer;
    yield {
      name: `${target.name}:${name}`,
      run: async (lane) => {
        await lane.restore();
        await target.run(lane, answer);
      },
    };
  }
}
