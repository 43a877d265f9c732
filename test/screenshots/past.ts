// Writes a week of requests of the simulated accounts as the gateway would have written them, so pages show more than the last minute.
import { requestId } from '../../proxy/turn/request-id.ts';
import { openStore, type RequestRow } from '../../store/store.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const HOURS = 7 * 24;

/** Numbers from 0 to 1 that are the same in each run. */
function* drawn(): Generator<number, never> {
  for (let seed = 20_260_101; ; ) {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    yield seed / 2_147_483_648;
  }
}

/** The load by the hour of the day: few turns at night, most before and after noon. */
const load = (hour: number): number => 8 + 46 * Math.max(0, Math.sin(((hour - 6) / 14) * Math.PI));

export interface Past {
  readonly accounts: readonly string[];
  readonly keys: readonly string[];
  readonly models: readonly string[];
}

/** @param store the URL of an empty store @param now Unix milliseconds */
export async function writePast(store: string, now: number, { accounts, keys, models }: Past): Promise<void> {
  const numbers = drawn();
  const draw = (): number => numbers.next().value;
  const one = (list: readonly string[]): string => list[Math.floor(draw() ** 1.6 * list.length)] ?? '';
  const written = await openStore(store, { clock: Date.now });
  for (let hour = HOURS; hour > 0; hour--) {
    const from = now - hour * HOUR_MS;
    const count = Math.round(load(new Date(from).getUTCHours()) * (0.7 + draw() * 0.6));
    for (let i = 0; i < count; i++) {
      const at = Math.floor(from + ((i + draw()) / count) * HOUR_MS);
      const failed = draw() < 0.025;
      const input = Math.round(2_000 + draw() * 40_000);
      const output = failed ? 0 : Math.round(100 + draw() * 1_500);
      const cached = Math.round(input * draw() * 0.8);
      const row = rowOf({ at, account: one(accounts), key_id: one(keys), model: one(models), took: 900 + draw() * 14_000, failed, draw });
      const cost_nanos = failed ? 0 : (input - cached) * 1_250 + cached * 125 + output * 10_000;
      const sums = {
        requests: 1,
        unknown: 0,
        input_tokens: failed ? 0 : input,
        cached_input_tokens: failed ? 0 : cached,
        output_tokens: output,
      };
      const used = { key_id: row.key_id ?? '', pool: 'team', day: at - (at % DAY_MS), ...sums, cost_nanos, held_tokens: 0, held_nanos: 0 };
      const tokens = failed ? {} : { input_tokens: input, cached_input_tokens: cached, output_tokens: output };
      written.usage.add(used, { row: { ...row, ...tokens }, attempts: [] });
    }
    await written.flush();
  }
  await written.close();
}

interface Turn extends Pick<RequestRow, 'account' | 'at' | 'key_id' | 'model'> {
  readonly took: number;
  readonly failed: boolean;
  draw(): number;
}

function rowOf({ at, account, key_id, model, took, failed, draw }: Turn): RequestRow {
  return {
    id: requestId(at),
    at,
    family: 'v1',
    surface: 'public',
    endpoint: '/v1/responses',
    method: 'POST',
    status: failed ? 429 : 200,
    status_class: failed ? '4xx' : '2xx',
    pool: 'team',
    pool_label: 'Team',
    account,
    api: 'agent',
    adapted: null,
    tier: 0,
    overflow: null,
    key_id,
    model,
    requested_model: null,
    code: failed ? 'usage_limit_reached' : null,
    retries: draw() < 0.08 ? 1 : 0,
    duration_ms: Math.round(took),
    first_event_ms: Math.round(300 + draw() * 900),
    detached_ms: null,
    effort: 'medium',
    input_tokens: null,
    cached_input_tokens: null,
    output_tokens: null,
    tokens_estimated: false,
    configured_mode: 'auto',
    effective_mode: 'full',
    mode_source: 'catalog',
    reason_class: null,
    error_class: failed ? 'quota' : null,
    payload_compression: null,
    upstream_error_param: null,
    why: { reason: 'headroom', others: { less_preferred: 2 } },
    outcome: failed ? 'refused' : 'completed',
    client_address: null,
  };
}
