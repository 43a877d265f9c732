// What the core itself learns from an account's answer, beside what the client gets of it: pins, turn state, quota.

import type { Failure } from '../turn/failure.ts';
import type { JsonObject } from '../turn/json.ts';
import type { ReplyObserver, ReplySource } from '../turn/reply-observer.ts';
import type { WireWords } from '../turn/settings.ts';
import type { Headers } from '../turn/turn.ts';

/** One attempt's view of the witnesses. */
export class Evidence {
  readonly #witnesses: readonly ReplyObserver[];
  readonly #types: ReadonlySet<string>;
  readonly #source: ReplySource;

  constructor(witnesses: readonly ReplyObserver[], types: ReadonlySet<string>, source: ReplySource) {
    this.#witnesses = witnesses;
    this.#types = types;
    this.#source = source;
  }

  wants(type: string): boolean {
    return this.#types.has(type);
  }

  head(status: number, headers: Headers): void {
    this.#tell((witness) => witness.head?.(this.#source, status, headers));
  }

  event(type: string, data: JsonObject): void {
    this.#tell((witness) => witness.event?.(this.#source, type, data));
  }

  answer(json: JsonObject): void {
    this.#tell((witness) => witness.answer?.(this.#source, json));
  }

  committed(): void {
    this.#tell((witness) => witness.committed?.(this.#source));
  }

  failed(failure: Failure): void {
    this.#tell((witness) => witness.failed?.(this.#source, failure));
  }

  /** A witness that fails takes nothing from the client. */
  #tell(tell: (witness: ReplyObserver) => void): void {
    for (const witness of this.#witnesses) {
      try {
        tell(witness);
      } catch (thrown) {
        this.#source.turn.fault(thrown);
      }
    }
  }
}

/** The witnesses of a gateway; the types that they read are spelled out once for each set of wire words. */
export class ReplyObservers {
  readonly #witnesses: readonly ReplyObserver[];
  readonly #types = new Map<string, ReadonlySet<string>>();

  constructor(witnesses: readonly ReplyObserver[]) {
    this.#witnesses = witnesses;
  }

  of(source: ReplySource): Evidence {
    return new Evidence(this.#witnesses, this.#typesIn(source.turn.wire), source);
  }

  #typesIn({ agent }: WireWords): ReadonlySet<string> {
    const known = this.#types.get(agent);
    if (known) return known;
    const types = new Set(this.#witnesses.flatMap(({ events }) => events.map((type) => type.replace('<agent>', agent))));
    this.#types.set(agent, types);
    return types;
  }
}
