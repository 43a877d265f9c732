// Providers that answer what no honest one does: each such answer to each call, at each of its exchanges.
import type { SeededRandom } from '../../simulation/seeded-random.ts';
import { type Attack, type Case, permutation } from '../attack.ts';
import type { HttpCall } from '../calls/call.ts';
import { DISPATCHED_CALLS } from '../calls/http-calls.ts';
import { runCall } from '../calls/run-call.ts';
import { HOSTILE_ANSWERS, type HostileAnswer } from '../corpus/hostile-answers.ts';

export const hostileAnswers: Attack = {
  name: 'hostile-answers',
  title: 'answers over HTTP that no honest provider gives',
  stage: 'ordinary',
  // Answers without end take what the provider can send.
  lanes: 4,
  sample: 120,
  async cases(_stage, random) {
    const pairs = DISPATCHED_CALLS.flatMap((call) =>
      Array.from({ length: call.exchanges }, (_, exchange) => HOSTILE_ANSWERS.map((hostile) => ({ call, exchange, hostile }))).flat(),
    );
    return casesOf(pairs, random);
  },
};

interface Pair {
  readonly call: HttpCall;
  readonly exchange: number;
  readonly hostile: HostileAnswer;
}

function* casesOf(pairs: readonly Pair[], random: SeededRandom): Generator<Case> {
  for (const number of permutation(pairs.length, random)) {
    const { call, exchange, hostile } = pairs[number] as Pair;
    yield {
      name: `${call.name} ${exchange}:${hostile.name}`,
      run: async (lane) => {
        await lane.restore();
        await runCall(lane, call, { plan: { exchange, answer: hostile.answer }, said: 'spoilt' });
      },
    };
  }
}
