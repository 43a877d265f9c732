// Forecasts the output of a turn from the key's last 50 turns on the same model (Q19), because some agents state a cap of 128,000 on every
// turn.
import { RecentEntries } from '../base/bytes/recent-entries.ts';

const HISTORY_TURNS = 50;
/** The least forecast, and the forecast without a history. */
export const LEAST_OUTPUT_TOKENS = 2_048;
const MAX_KEYS = 10_000;
/** The most models of one key. Image models need no catalog entry, so clients can use any name. */
const MAX_MODELS = 100;

/** The output tokens of the last turns. The oldest value is overwritten first. */
interface History {
  readonly outputs: Float64Array;
  /** The number of turns ever added. */
  count: number;
  sum: number;
}

/** Forecasts are in memory only, and bounded. After a restart, or for a key that was evicted, they start again with the least one. */
export class OutputForecast {
  /** Histories by key id, then by model. A combined name would have to be built and hashed twice a turn. */
  readonly #keys = new RecentEntries<RecentEntries<History>>(MAX_KEYS);

  /** The forecast: twice the mean of the last turns, at least 2,048 tokens. */
  tokens(key: string, model: string): number {
    const history = this.#keys.get(key)?.get(model);
    if (!history) return LEAST_OUTPUT_TOKENS;
    return Math.max(LEAST_OUTPUT_TOKENS, Math.ceil((2 * history.sum) / Math.min(history.count, HISTORY_TURNS)));
  }

  add(key: string, model: string, outputTokens: number): void {
    let models = this.#keys.get(key);
    if (!models) {
      models = new RecentEntries(MAX_MODELS);
      this.#keys.set(key, models);
    }
    let history = models.get(model);
    if (!history) {
      history = { outputs: new Float64Array(HISTORY_TURNS), count: 0, sum: 0 };
      models.set(model, history);
    }
    const slot = history.count % HISTORY_TURNS;
    history.sum += outputTokens - (history.outputs[slot] as number);
    history.outputs[slot] = outputTokens;
    history.count += 1;
  }
}
