// Forecasts the output of a turn from the key's last 50 turns on the same model (Q19): some agents state a cap of 128,000 on every turn.
import { LRUCache } from 'lru-cache';

const HISTORY_TURNS = 50;
/** The least forecast, and the forecast without a history. */
export const LEAST_OUTPUT_TOKENS = 2_048;
const MAX_HISTORIES = 10_000;

/** The output tokens of the last turns, oldest overwritten first. */
interface History {
  readonly outputs: Float64Array;
  /** Number of turns ever added. */
  count: number;
  sum: number;
}

/** In memory only, and bounded: after a restart, or for a key that was evicted, forecasts start again at the least one. */
export class OutputForecast {
  readonly #histories = new LRUCache<string, History>({ max: MAX_HISTORIES });

  /** Twice the mean of the last turns, at least 2,048 tokens. */
  tokens(key: string, model: string): number {
    const history = this.#histories.get(nameOf(key, model));
    if (!history) return LEAST_OUTPUT_TOKENS;
    return Math.max(LEAST_OUTPUT_TOKENS, Math.ceil((2 * history.sum) / Math.min(history.count, HISTORY_TURNS)));
  }

  add(key: string, model: string, outputTokens: number): void {
    const name = nameOf(key, model);
    let history = this.#histories.get(name);
    if (!history) {
      history = { outputs: new Float64Array(HISTORY_TURNS), count: 0, sum: 0 };
      this.#histories.set(name, history);
    }
    const slot = history.count % HISTORY_TURNS;
    history.sum += outputTokens - (history.outputs[slot] as number);
    history.outputs[slot] = outputTokens;
    history.count += 1;
  }
}

/** Ids of keys have no space. */
const nameOf = (key: string, model: string): string => `${key} ${model}`;
