// What one turn reserved of its key's limits, and an estimate of its usage if the provider stated none (Q18, Q19).
import { costOf } from '../turn/costs/prices.ts';
import type { Cost, ExpectedUsage } from '../turn/costs/spending.ts';
import { DeltaLocator, type EventBytes, textLength } from '../turn/reply/event-bytes.ts';
import type { TokenCounts } from '../turn/reply/turn-result.ts';
import type { Prices } from '../turn/settings.ts';
import { inputTokens, tokensOfBytes } from '../turn/token-estimate.ts';
import type { Body } from '../turn/turn.ts';
import type { Reserved, Used } from './limits/key-limits.ts';
import type { Amounts } from './usage-totals.ts';

/** The expected output tokens of a turn: the smallest forecast, and the forecast for its key and model (Q19). */
export interface Forecast {
  least(): number;
  expected(): number;
}

export class Reservation implements ExpectedUsage {
  readonly #request: Body | undefined;
  readonly #reserved: Reserved;
  readonly #forecast: Forecast;
  readonly #output = new VisibleOutput();

  /** @param request the client's body before any rule edited it; undefined if the route streams the body without parsing it */
  constructor(request: Body | undefined, reserved: Reserved, forecast: Forecast) {
    this.#request = request;
    this.#reserved = reserved;
    this.#forecast = forecast;
  }

  tokens(): number {
    return this.#request ? inputTokens(this.#request) + this.#forecast.expected() : 0;
  }

  costAt(prices: Prices): Cost {
    const input_tokens = this.#request ? inputTokens(this.#request) : 0;
    const cost = (output_tokens: number): number => costOf({ input_tokens, cached_input_tokens: null, output_tokens }, prices);
    return { least: cost(this.#forecast.least()), expected: cost(this.#forecast.expected()) };
  }

  get amounts(): Amounts {
    return this.#reserved.amounts;
  }

  /** Counts the output bytes of a reply event that is sent to the client. */
  countOutput(event: EventBytes): void {
    this.#output.add(event);
  }

  /** The usage of a reply that broke off or lost its client: the input estimate plus the output that was sent (Q18). */
  estimatedUsage(): TokenCounts | undefined {
    if (!this.#request) return undefined;
    return { input_tokens: inputTokens(this.#request), cached_input_tokens: null, output_tokens: this.#output.tokens };
  }

  /** Ends the reservation and records the usage; a second call does nothing. @param used undefined for a turn that was never sent to an account */
  settle(used: Used | undefined): void {
    this.#reserved.settle(used);
  }
}

/** Counts the output of a reply by the bytes of its events, without parsing them, because most are relayed unparsed (Q18). */
export class VisibleOutput {
  /** The bytes of `delta` texts in UTF-8. */
  #bytes = 0;
  readonly #deltas = new DeltaLocator();

  get bytes(): number {
    return this.#bytes;
  }

  /** The estimated number of tokens. */
  get tokens(): number {
    return tokensOfBytes(this.#bytes);
  }

  add(event: EventBytes): void {
    if (!event.type.endsWith('.delta')) return;
    const at = this.#deltas.locate(event);
    if (at !== -1) this.#bytes += textLength(event.bytes, at, event.end);
  }
}
