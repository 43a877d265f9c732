// The observers of replies. Continuity and quota read the accounts' answers, whatever the client gets.
import type { Failure } from '../../turn/errors/failure.ts';
import type { JsonObject } from '../../turn/json/json.ts';
import type { ProviderApi } from '../../turn/provider/provider-api.ts';
import type { HeldEvents, ReplyObserver, ReplySource } from '../../turn/reply/reply-observer.ts';
import type { WireWords } from '../../turn/settings.ts';
import type { Headers } from '../../turn/turn.ts';

/** The observers of each type of event that any observer reads. */
type ObserversByType = ReadonlyMap<string, readonly ReplyObserver[]>;

/** The observers of one attempt. An error in an observer does not affect the client's reply. */
export class AttemptObservers {
  readonly #observers: readonly ReplyObserver[];
  readonly #byType: ObserversByType;
  readonly #source: ReplySource;

  constructor(observers: readonly ReplyObserver[], byType: ObserversByType, source: ReplySource) {
    this.#observers = observers;
    this.#byType = byType;
    this.#source = source;
  }

  wants(type: string): boolean {
    return this.#byType.has(type);
  }

  head(status: number, headers: Headers): void {
    this.#each((observer) => observer.head?.(this.#source, status, headers));
  }

  event(type: string, data: JsonObject): void {
    this.#each((observer) => observer.event?.(this.#source, type, data), this.#byType.get(type));
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

  #each(call: (observer: ReplyObserver) => void, observers = this.#observers): void {
    for (const observer of observers) {
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
  readonly #byType = new WeakMap<ProviderApi, Map<string, ObserversByType>>();

  constructor(observers: readonly ReplyObserver[]) {
    this.#observers = observers;
  }

  of(source: ReplySource): AttemptObservers {
    return new AttemptObservers(this.#observers, this.#byTypeIn(source.provider, source.turn.wire), source);
  }

  #byTypeIn(provider: ProviderApi, wire: WireWords): ObserversByType {
    const byWord = this.#byType.get(provider) ?? new Map<string, ObserversByType>();
    this.#byType.set(provider, byWord);
    const known = byWord.get(wire.agent);
    if (known) return known;
    const byType = new Map<string, readonly ReplyObserver[]>();
    for (const observer of this.#observers) {
      for (const type of [...observer.events, ...(observer.eventsOf?.(provider, wire) ?? [])])
        byType.set(type, [...(byType.get(type) ?? []), observer]);
    }
    byWord.set(wire.agent, byType);
    return byType;
  }
}
