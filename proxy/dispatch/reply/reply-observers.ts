// The observers of replies. Continuity and quota read the accounts' answers, whatever the client gets.
import type { Failure } from '../../turn/errors/failure.ts';
import type { JsonObject } from '../../turn/json/json.ts';
import type { ProviderApi } from '../../turn/provider/provider-api.ts';
import type { HeldEvents, ReplyObserver, ReplySource } from '../../turn/reply/reply-observer.ts';
import type { WireWords } from '../../turn/settings.ts';
import type { Headers } from '../../turn/turn.ts';

/** The observers of one attempt. An error in an observer does not affect the client's reply. */
export class AttemptObservers {
  readonly #observers: readonly ReplyObserver[];
  readonly #types: ReadonlySet<string>;
  readonly #source: ReplySource;

  constructor(observers: readonly ReplyObserver[], types: ReadonlySet<string>, source: ReplySource) {
    this.#observers = observers;
    this.#types = types;
    this.#source = source;
  }

  wants(type: string): boolean {
    return this.#types.has(type);
  }

  head(status: number, headers: Headers): void {
    this.#each((observer) => observer.head?.(this.#source, status, headers));
  }

  event(type: string, data: JsonObject): void {
    this.#each((observer) => observer.event?.(this.#source, type, data));
  }

  answer(json: JsonObject): void {
    this.#each((observer) => observer.answer?.(this.#source, json));
  }

  committed(head: HeldEvents | undefined): void {
    this.#each((observer) => observer.committed?.(this.#source, head));
  }

  failed(failure: Failure): void {
    this.#each((observer) => observer.failed?.(this.#source, failure));
  }

  #each(call: (observer: ReplyObserver) => void): void {
    for (const observer of this.#observers) {
      try {
        call(observer);
      } catch (thrown) {
        this.#source.turn.fault(thrown);
      }
    }
  }
}

/** The observers of a gateway. Their event types are resolved once for each provider API and set of wire words. */
export class ReplyObservers {
  readonly #observers: readonly ReplyObserver[];
  readonly #types = new WeakMap<ProviderApi, Map<string, ReadonlySet<string>>>();

  constructor(observers: readonly ReplyObserver[]) {
    this.#observers = observers;
  }

  of(source: ReplySource): AttemptObservers {
    return new AttemptObservers(this.#observers, this.#typesIn(source.provider, source.turn.wire), source);
  }

  #typesIn(provider: ProviderApi, wire: WireWords): ReadonlySet<string> {
    const byWord = this.#types.get(provider) ?? new Map<string, ReadonlySet<string>>();
    this.#types.set(provider, byWord);
    const known = byWord.get(wire.agent);
    if (known) return known;
    const types = new Set(this.#observers.flatMap((one) => [...one.events, ...(one.eventsOf?.(provider, wire) ?? [])]));
    byWord.set(wire.agent, types);
    return types;
  }
}
