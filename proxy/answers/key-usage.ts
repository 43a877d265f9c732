// `GET /v1/usage`: the usage of the key in the last 28 days, the current state of its limits, and the same totals of its Pool (D5, Q20).
import type { Accounting } from '../keys/accounting.ts';
import type { Totals } from '../keys/usage-totals.ts';
import { dollars } from '../turn/costs/nanos.ts';
import { Refusal } from '../turn/errors/refusal.ts';
import type { AnswerHandler } from './answer-handler.ts';

export function keyUsageAnswers(accounting: Pick<Accounting, 'daysOf' | 'limits' | 'ofKey' | 'ofPool'>): AnswerHandler {
  return async ({ key, pool, query }) => {
    const by = new URLSearchParams(query).get('by');
    if (by !== null && by !== 'day') throw new Refusal('invalid_request', { param: 'by', message: 'by takes day.' });
    const body = {
      object: 'usage',
      ...shown(accounting.ofKey(key)),
      limits: await accounting.limits(key),
      pool: shown(accounting.ofPool(pool)),
      ...(by === 'day' && {
        days: accounting.daysOf(key).map(({ day, totals }) => ({ day: new Date(day).toISOString().slice(0, 10), ...shown(totals) })),
      }),
    };
    return { status: 200, headers: { 'cache-control': 'no-store' }, body: JSON.stringify(body) };
  };
}

function shown({ requests, input_tokens, cached_input_tokens, output_tokens, cost_nanos }: Totals): Readonly<Record<string, number>> {
  return {
    request_count: requests,
    input_tokens,
    cached_input_tokens,
    output_tokens,
    total_tokens: input_tokens + output_tokens,
    total_cost_usd: dollars(cost_nanos),
  };
}
