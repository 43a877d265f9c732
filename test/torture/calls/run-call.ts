// Runs one call over HTTP on a lane, checks the answer to its client, and keeps it for the comparison with the rows.
import { isObject, type JsonObject } from '../../../proxy/turn/json/json.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { type Answer, readAnswers } from '../client/answers.ts';
import { rawCall } from '../client/raw-call.ts';
import { expect, shown } from '../finding.ts';
import type { Lane } from '../stage/lane.ts';
import { OPERATOR_TOKEN } from '../stage/settings.ts';
import type { Plan } from '../wire/exchanges.ts';
import { type HttpCall, requestOf } from './call.ts';
import { type Outcome, outcomeOf, type Said } from './verdict.ts';

export interface CallOptions {
  readonly plan?: Plan;
  /** Default: an ordinary call. */
  readonly said?: Said;
  readonly patienceMs?: number;
}

export async function runCall(lane: Lane, call: HttpCall, { plan, said = 'as ever', patienceMs }: CallOptions = {}): Promise<Outcome> {
  lane.exchanges.next(plan);
  const credential = { key: lane.keyFor(said), operatorToken: OPERATOR_TOKEN };
  const seen = await rawCall(lane.url, {
    pieces: [requestOf(call, credential)],
    leaves: 'never',
    answers: 1,
    methods: [call.method],
    ...(patienceMs === undefined ? {} : { patienceMs }),
  });
  const outcome = outcomeOf(call, seen, said);
  const { answer } = outcome;
  const usage = call.metered && outcome.kind === 'whole' && said === 'as ever' ? usageIn(answer) : undefined;
  if (usage) checkUsage(usage, lane);
  lane.told.set(answer.headers['x-request-id'] ?? '', { status: answer.status, ...(usage ? { usage } : {}) });
  return outcome;
}

/** Runs it without a fault. @throws Finding if the answer is not complete */
export async function runClean(lane: Lane, call: HttpCall): Promise<Answer> {
  const { kind, answer } = await runCall(lane, call);
  expect(kind === 'whole', () => `${call.name} without a fault: ${answer.status} ${shown(answer.body)}`);
  return answer;
}

/** Checks that the client's answer has the usage that the account stated in the reply. */
function checkUsage(told: readonly [number, number], { exchanges: { list } }: Lane): void {
  const last = list.at(-1);
  const [reply] = last && !last.answered ? readAnswers(last.reply).answers : [];
  const stated = reply?.isWhole ? usageIn(reply) : undefined;
  if (stated) expect(String(stated) === String(told), () => `the account stated a usage of ${stated}, and the client was told ${told}`);
}

/** The tokens that an answer states. */
function usageIn({ body, headers }: Answer): readonly [number, number] | undefined {
  const text = body.toString();
  if (headers['content-type']?.startsWith('text/event-stream') !== true) return tokensOf(JSON.parse(text));
  const events = eventsOf(text).map(({ data }) => data as JsonObject | string);
  for (const event of events.toReversed()) {
    const tokens = isObject(event) ? tokensOf(isObject(event.response) ? event.response : event) : undefined;
    if (tokens) return tokens;
  }
  return undefined;
}

export function tokensOf({ usage }: JsonObject): readonly [number, number] | undefined {
  if (!isObject(usage)) return undefined;
  const [input, output] = [usage.input_tokens ?? usage.prompt_tokens, usage.output_tokens ?? usage.completion_tokens];
  return typeof input === 'number' && typeof output === 'number' ? [input, output] : undefined;
}
