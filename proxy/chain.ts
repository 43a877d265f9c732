// Compiles the ordered rules of a route kind, and carries one turn through their phases.

import type { Rule, UpstreamRefusal } from '../rules/rule.ts';
import type { RouteKind } from './config/config.ts';
import type { Refusal } from './refusal.ts';
import type { Event, Head, JsonObject, Outcome, Outgoing, Turn, Work } from './turn.ts';

const PHASES = ['admit', 'request', 'attempt', 'head', 'refused', 'event', 'answer', 'end'] as const;

/** The rules of one route kind, in order; a rule that is not on the route costs it nothing. */
export class Chain {
  readonly rules: readonly Rule[];
  /** Whether anything reads the parsed body; else it is piped unread. */
  readonly wantsBody: boolean;

  constructor(rules: readonly Rule[], kind: RouteKind | undefined) {
    this.rules = rules.filter((rule) => rule.routes === '*' || (kind !== undefined && rule.routes.includes(kind)));
    this.wantsBody = this.rules.some((rule) => rule.request);
  }
}

/** One chain per route kind, compiled once. */
export class Chains {
  readonly #byKind = new Map<RouteKind | undefined, Chain>();
  readonly #rules: readonly Rule[];

  constructor(rules: readonly Rule[]) {
    this.#rules = rules;
  }

  of(kind: RouteKind | undefined): Chain {
    let chain = this.#byKind.get(kind);
    if (!chain) {
      chain = new Chain(this.#rules, kind);
      this.#byKind.set(kind, chain);
    }
    return chain;
  }
}

/** A rule that wants some event, with what it remembers of the turn. */
interface Listener {
  readonly rule: Rule;
  readonly memory: unknown;
}

/** One turn's passage through its chain: who listens, and with which memory. */
export class Passage {
  readonly #turn: Turn;
  readonly #chain: Chain;
  /** Rules that take part in attempts and the reply, in order. */
  #listeners: Listener[] = [];
  readonly #wanting = new Map<string, readonly Listener[]>();

  constructor(chain: Chain, turn: Turn) {
    this.#chain = chain;
    this.#turn = turn;
  }

  get wantsBody(): boolean {
    return this.#chain.wantsBody;
  }

  admit(): void {
    for (const rule of this.#chain.rules) rule.admit?.(this.#turn);
  }

  /** Runs the request phases; afterwards it is settled who listens to the rest. */
  async request(work: Work): Promise<void> {
    const listeners: Listener[] = [];
    for (const rule of this.#chain.rules) {
      if (!rule.request) {
        listeners.push({ rule, memory: undefined });
        continue;
      }
      const returned = rule.request(work, this.#turn);
      const memory = returned instanceof Promise ? await returned : returned;
      if (memory !== undefined) listeners.push({ rule, memory });
    }
    this.#listeners = listeners;
  }

  attempt(out: Outgoing): void {
    for (const { rule, memory } of this.#listeners) rule.attempt?.(out, memory, this.#turn);
  }

  head(head: Head): Event[] {
    const first: Event[] = [];
    for (let i = this.#listeners.length - 1; i >= 0; i--) {
      const { rule, memory } = this.#listeners[i] as Listener;
      const events = rule.head?.(head, memory, this.#turn);
      if (events) first.push(...events);
    }
    return first;
  }

  refused(refusal: UpstreamRefusal): Refusal | undefined {
    for (let i = this.#listeners.length - 1; i >= 0; i--) {
      const { rule, memory } = this.#listeners[i] as Listener;
      const own = rule.refused?.(refusal, memory, this.#turn);
      if (own) return own;
    }
    return undefined;
  }

  /** Whether anybody wants events of this type; if not, they are never parsed. */
  wants(type: string): boolean {
    return this.#listenersOf(type).length > 0;
  }

  /** Maps one event, last rule first; the very same object back means: forward its bytes. */
  event(event: Event): Event | readonly Event[] {
    return this.#map(event, this.#listenersOf(event.type), 0);
  }

  answer(response: JsonObject): JsonObject {
    let answer = response;
    for (let i = this.#listeners.length - 1; i >= 0; i--) {
      const { rule, memory } = this.#listeners[i] as Listener;
      if (rule.answer) answer = rule.answer(answer, memory, this.#turn);
    }
    return answer;
  }

  /** Every rule's end runs, whatever another one threw: it may be what settles an account. */
  end(outcome: Outcome, fault: (thrown: unknown) => void): (Event | Refusal)[] {
    const closing: (Event | Refusal)[] = [];
    for (let i = this.#listeners.length - 1; i >= 0; i--) {
      const { rule, memory } = this.#listeners[i] as Listener;
      try {
        const last = rule.end?.(outcome, memory, this.#turn);
        if (last) closing.push(...last);
      } catch (thrown) {
        fault(thrown);
      }
    }
    return closing;
  }

  #map(event: Event, listeners: readonly Listener[], from: number): Event | readonly Event[] {
    let current = event;
    for (let i = from; i < listeners.length; i++) {
      const { rule, memory } = listeners[i] as Listener;
      const mapped = rule.event?.(current, memory, this.#turn);
      if (mapped === null || mapped === undefined) return [];
      if (Array.isArray(mapped)) return mapped.flatMap((one: Event) => this.#map(one, listeners, i + 1));
      current = mapped as Event;
    }
    return current;
  }

  #listenersOf(type: string): readonly Listener[] {
    let wanting = this.#wanting.get(type);
    if (!wanting) {
      wanting = this.#listeners.filter(({ rule }) => rule.event && rule.events && matches(rule.events, type, this.#turn)).reverse();
      this.#wanting.set(type, wanting);
    }
    return wanting;
  }
}

/** `*` is every type; `<agent>.*` every type of the backend's own family, in this deployment's word. */
function matches(events: NonNullable<Rule['events']>, type: string, turn: Turn): boolean {
  if (events === '*' || events.includes(type)) return true;
  return events.includes('<agent>.*') && type.startsWith(`${turn.wire.agent}.`);
}

/** The rules of a kind with their phases, as `routes` and `explain` print them. */
export function describeChain(rules: readonly Rule[], kind: RouteKind | undefined): { rule: string; phases: string[] }[] {
  return new Chain(rules, kind).rules.map((rule) => ({
    rule: rule.name,
    phases: PHASES.filter((phase) => rule[phase] !== undefined),
  }));
}
