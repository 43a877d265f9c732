// What one turn has reserved of its key's limits, and what it can be said to have used when nobody states it (Q18, Q19).
import type { Body } from '../turn/turn.ts';
import { inputTokens, outputTokens, visibleTokens } from './input-estimate.ts';
import type { Release } from './key-limits.ts';
import type { Amounts } from './key-use.ts';
import type { Tokens } from './usage-totals.ts';
import { Shown, type ShownEvent } from './visible-output.ts';

export class Reservation {
  /** The request as its client said it: nothing that is nested in it is ever edited. */
  readonly #said: Body | undefined;
  readonly #shown = new Shown();
  #reserved: Amounts | undefined;
  #release: Release | undefined;

  /** @param body undefined on routes whose body nobody reads: they use no tokens that anybody counts */
  constructor(body: Body | undefined) {
    this.#said = body && { ...body };
  }

  /** Guessed input and output. @param most output tokens of the key's policy */
  estimate(most: number | undefined): { readonly input: number; readonly output: number } {
    if (!this.#said) return { input: 0, output: 0 };
    return { input: inputTokens(this.#said), output: outputTokens(this.#said, most) };
  }

  reserve(amounts: Amounts, release: Release): void {
    this.#reserved = amounts;
    this.#release = release;
  }

  get reserved(): Amounts | undefined {
    return this.#reserved;
  }

  /** A reply event on its way to the client. */
  show(event: ShownEvent): void {
    this.#shown.add(event);
  }

  /** Of a reply that broke off, or whose client left: what was asked, and what was shown of the answer. */
  cut(): Tokens | undefined {
    if (!this.#said) return undefined;
    return { input_tokens: inputTokens(this.#said), cached_input_tokens: null, output_tokens: visibleTokens(this.#shown.bytes) };
  }

  release(used: Parameters<Release>[0]): void {
    this.#release?.(used);
  }
}
