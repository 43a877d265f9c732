// Requests of clients that stop at every byte, with the end of their side, a reset, or silence; and the same bytes in two pieces.
import type { SeededRandom } from '../../../simulation/seeded-random.ts';
import { until } from '../../../support/until.ts';
import { type Attack, type Case, eachAt, interleaved } from '../../attack.ts';
import { type HttpCall, requestOf } from '../../calls/call.ts';
import { HTTP_CALLS } from '../../calls/http-calls.ts';
import { outcomeOf } from '../../calls/verdict.ts';
import { rawCall } from '../../client/raw-call.ts';
import { expect, shown } from '../../finding.ts';
import type { Lane } from '../../stage/lane.ts';
import { OPERATOR_TOKEN } from '../../stage/settings.ts';

const LEAVES = ['end', 'reset', 'silence', 'two pieces'] as const;
type Leaves = (typeof LEAVES)[number];

/** How often a case uses silence, which lasts as long as a deadline of the gateway. */
const SILENCE_EVERY = 23;

/** The permitted answers to an incomplete request. */
const STATUSES: ReadonlySet<number> = new Set([400, 408]);

const STREAMED: ReadonlySet<string> = new Set(['/backend-api/transcribe', '/backend-api/agent/analytics-events/events']);

export const clientBytes: Attack = {
  name: 'client-bytes',
  title: 'requests over HTTP that stop at each byte',
  stage: 'ordinary',
  sample: 150,
  async cases(_stage, random) {
    return interleaved(HTTP_CALLS.map((call) => casesOf(call, random)));
  },
};

function* casesOf(call: HttpCall, random: SeededRandom): Generator<Case> {
  const bytes = requestOf(call, { key: 'pg-torture-00', operatorToken: OPERATOR_TOKEN }).length;
  for (const [leaves, at] of eachAt(LEAVES, bytes, random)) {
    if (leaves === 'silence' && at % SILENCE_EVERY !== 0) continue;
    yield { name: `${call.name}:${leaves}:${at}`, run: (lane) => stopped(lane, call, { leaves, at }) };
  }
}

async function stopped(lane: Lane, call: HttpCall, { leaves, at }: { readonly leaves: Leaves; readonly at: number }): Promise<void> {
  lane.exchanges.next();
  const request = requestOf(call, { key: lane.keyFor('spoilt'), operatorToken: OPERATOR_TOKEN });
  const [before, after] = [request.subarray(0, at), request.subarray(at)];
  if (leaves === 'two pieces') {
    const pieces = [before, after].filter(({ length }) => length > 0);
    const { kind, answer } = outcomeOf(call, await rawCall(lane.url, { pieces, leaves: 'never', answers: 1 }), 'as ever');
    expect(kind === 'whole', () => `in two pieces: ${answer.status} ${shown(answer.body)}`);
    return;
  }
  const seen = await rawCall(lane.url, {
    pieces: before.length > 0 ? [before] : [],
    leaves: leaves === 'silence' ? 'never' : leaves,
    answers: 1,
  });
  expect(!seen.isLate, () => `neither an answer nor an end within the deadline: ${shown(seen.bytes)}`);
  expect(seen.fault === undefined && seen.rest.length === 0, () => `${seen.fault}: ${shown(seen.bytes)}`);
  for (const { status, body } of seen.answers) expect(STATUSES.has(status), () => `an incomplete request: ${status} ${shown(body)}`);
  await checkDispatch(lane, call, before);
}

/** Checks that an incomplete body reaches no account, unless it is streamed, and that a streamed request then ends too. */
async function checkDispatch({ exchanges }: Lane, { retry, headers }: HttpCall, sent: Buffer): Promise<void> {
  if (retry !== 'never') {
    // A streamed request may reach its account after its client, in the case before this one, has left.
    const own = exchanges.list.filter(({ path }) => !STREAMED.has(path));
    expect(own.length === 0, () => `${own.map(({ path }) => path)} of an incomplete request: ${shown(sent)}`);
    return;
  }
  const { list } = exchanges;
  expect(list.length <= 1, () => `${list.length} requests to accounts for ${headers['content-type']}`);
  // The attack may have answered before the request was complete.
  if (list[0]?.answered !== true) await until('the request to the account to end', () => list.every(({ isOver }) => isOver) || undefined);
}
