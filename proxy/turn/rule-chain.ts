// Compiles the ordered rules of a route kind, and carries one turn through their phases.

import type { Rule, UpstreamRefusal } from '../../rules/rule.ts';
import type { JsonObject } from './json.ts';
import type { RouteKind } from './kinds.ts';
import type { Refusal } from './refusal.ts';
import type { WireWords } from './settings.ts';
import type { Event, Head, Outcome, Outgoing, Turn, Work } from './turn.ts';

/** In a rule's `events`: every type of the backend's own family, in this deployment's word. */
const FAMILY = '<agent>.*';

const PHASES = ['admit', 'request', 'attempt', 'head', 'refused', 'event', 'answer', 'end'] as const;

/** In the place of a rule's memory: it takes no part in the rest of the turn. */
const ABSENT = Symbol('absent');

/** A rule, and where its memory of a turn stands. */
interface Place {
  readonly rule: Rule;
  readonly at: number;
}

/** The rules of one route kind, in order; a rule that is not on the route, or not in a phase, costs it nothing. */
export class Chain {
  readonly rules: readonly Rule[];
  /** Whether anything reads the parsed body; else it is piped unread. */
  readonly wantsBody: boolean;
  /** Who takes part in a phase, in the order in which it runs. */
  readonly attempt: readonly Place[];
  readonly head: readonly Place[];
  readonly refused: readonly Place[];
  readonly answer: readonly Place[];
  readonly end: readonly Place[];
  /** Of a turn whose request phases have not run. */
  readonly memories: readonly unknown[];
  readonly #byType: ReadonlyMap<string, readonly Place[]>;
  readonly #ofFamily: readonly Place[];
  readonly #ofEvery: readonly Place[];

  constructor(rules: readonly Rule[], kind: RouteKind | undefined) {
    this.rules = rules.filter((rule) => rule.routes === '*' || (kind !== undefined && rule.routes.includes(kind)));
    this.wantsBody = this.rules.some((rule) => rule.request);
    this.memories = this.rules.map((rule) => (rule.request ? ABSENT : undefined));
    const down = this.rules.map((rule, at) => ({ rule, at }));
    const up = down.toReversed();
    this.attempt = down.filter(({ rule }) => rule.attempt);
    this.head = up.filter(({ rule }) => rule.head);
    this.refused = up.filter(({ rule }) => rule.refused);
    this.answer = up.filter(({ rule }) => rule.answer);
    this.end = up.filter(({ rule }) => rule.end);
    const wanting = (type: string): readonly Place[] =>
      up.filter(({ rule }) => rule.event && (rule.events === '*' || rule.events?.includes(type)));
    const named = this.rules.flatMap(({ events = [] }) => (events === '*' ? [] : events));
    this.#byType = new Map(named.map((type) => [type, wanting(type)]));
    this.#ofFamily = wanting(FAMILY);
    this.#ofEvery = wanting('*');
  }

  /** Rules that may want events of a type, last rule first. Types are a provider's text: none is remembered. */
  wanting(type: string, { agent }: WireWords): readonly Place[] {
    const named = this.#byType.get(type);
    if (named) return named;
    return type.startsWith(agent) && type[agent.length] === '.' ? this.#ofFamily : this.#ofEvery;
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

/** One turn's passage through its chain: who listens, and with which memory. */
export class RuleRun {
  readonly #turn: Turn;
  readonly #chain: Chain;
  /** One for each rule. The request phases settle who listens to the rest; until then only those do that take no part in them. */
  #memories: readonly unknown[];

  constructor(chain: Chain, turn: Turn) {
    this.#chain = chain;
    this.#turn = turn;
    this.#memories = chain.memories;
  }

  get wantsBody(): boolean {
    return this.#chain.wantsBody;
  }

  admit(): void {
    for (const rule of this.#chain.rules) rule.admit?.(this.#turn);
  }

  /** A promise only where a rule has to wait. */
  request(work: Work): Promise<void> | undefined {
    return this.#request(work, []);
  }

  /** Goes on behind the rules whose memories there are. */
  #request(work: Work, memories: unknown[]): Promise<void> | undefined {
    const { rules } = this.#chain;
    while (memories.length < rules.length) {
      const rule = rules[memories.length] as Rule;
      const returned = rule.request?.(work, this.#turn);
      if (returned instanceof Promise) {
        return returned.then((memory) => {
          memories.push(memory === undefined ? ABSENT : memory);
          return this.#request(work, memories);
        });
      }
      memories.push(returned === undefined && rule.request ? ABSENT : returned);
    }
    this.#memories = memories;
    return undefined;
  }

  attempt(out: Outgoing): void {
    for (const { rule, at } of this.#chain.attempt) if (this.#listens(at)) rule.attempt?.(out, this.#memories[at], this.#turn);
  }

  head(head: Head): Event[] {
    const first: Event[] = [];
    for (const { rule, at } of this.#chain.head) {
      const events = this.#listens(at) ? rule.head?.(head, this.#memories[at], this.#turn) : undefined;
      if (events) first.push(...events);
    }
    return first;
  }

  refused(refusal: UpstreamRefusal): Refusal | undefined {
    for (const { rule, at } of this.#chain.refused) {
      const own = this.#listens(at) ? rule.refused?.(refusal, this.#memories[at], this.#turn) : undefined;
      if (own) return own;
    }
    return undefined;
  }

  /** Whether anybody wants events of this type; if not, they are never parsed. */
  wants(type: string): boolean {
    for (const { at } of this.#chain.wanting(type, this.#turn.wire)) if (this.#listens(at)) return true;
    return false;
  }

  /** Maps one event, last rule first; the very same object back means: forward its bytes. */
  event(event: Event): Event | readonly Event[] {
    return this.#map(event, this.#chain.wanting(event.type, this.#turn.wire), 0);
  }

  answer(response: JsonObject): JsonObject {
    let answer = response;
    for (const { rule, at } of this.#chain.answer) {
      if (this.#listens(at) && rule.answer) answer = rule.answer(answer, this.#memories[at], this.#turn);
    }
    return answer;
  }

  /** Every rule's end runs, whatever another one threw: it may be what settles an account. */
  end(outcome: Outcome, fault: (thrown: unknown) => void): (Event | Refusal)[] {
    const closing: (Event | Refusal)[] = [];
    for (const { rule, at } of this.#chain.end) {
      try {
        const last = this.#listens(at) ? rule.end?.(outcome, this.#memories[at], this.#turn) : undefined;
        if (last) closing.push(...last);
      } catch (thrown) {
        fault(thrown);
      }
    }
    return closing;
  }

  #listens(at: number): boolean {
    return this.#memories[at] !== ABSENT;
  }

  #map(event: Event, places: readonly Place[], from: number): Event | readonly Event[] {
    let current = event;
    for (let i = from; i < places.length; i++) {
      const { rule, at } = places[i] as Place;
      if (!this.#listens(at)) continue;
      const mapped = rule.event?.(current, this.#memories[at], this.#turn);
      if (mapped === null || mapped === undefined) return [];
      if (Array.isArray(mapped)) return mapped.flatMap((one: Event) => this.#map(one, places, i + 1));
      current = mapped as Event;
    }
    return current;
  }
}

/** The rules of a kind with their phases, as `routes` and `explain` print them. */
export function describeChain(rules: readonly Rule[], kind: RouteKind | undefined): { rule: string; phases: string[] }[] {
  return new Chain(rules, kind).rules.map((rule) => ({
    rule: rule.name,
    phases: PHASES.filter((phase) => rule[phase] !== undefined),
  }));
}
