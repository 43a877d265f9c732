// Compiles the ordered rules of a route kind for one configuration, and runs one turn through their phases.

import { AGENT_FAMILY, EVENT_TYPES, type EventType, familyPrefix, wireType } from './event-types.ts';
import type { StreamedPart } from './form.ts';
import type { JsonObject } from './json.ts';
import type { RouteKind } from './kinds.ts';
import type { Refusal } from './refusal.ts';
import { type PartReader, type Rule, SKIP, type UpstreamRefusal } from './rule.ts';
import type { WireWords } from './settings.ts';
import type { Event, Head, Outcome, Outgoing, Turn, Work } from './turn.ts';

const PHASES = ['admit', 'request', 'edit', 'parts', 'attempt', 'head', 'refused', 'event', 'answer', 'end'] as const;

export type Phase = (typeof PHASES)[number];

/** A rule of a chain, and the index of its memory in a turn. */
interface Link {
  readonly rule: Rule;
  readonly index: number;
}

/** One chain for each route kind, compiled when it is first asked for. */
export class Chains {
  readonly #byKind = new Map<RouteKind | undefined, Chain>();
  readonly #rules: readonly Rule[];
  readonly #wire: WireWords;

  /** @throws Error where a rule subscribes to what can never come */
  constructor(rules: readonly Rule[], wire: WireWords) {
    for (const rule of rules) checkSubscription(rule);
    this.#rules = rules;
    this.#wire = wire;
  }

  of(kind: RouteKind | undefined): Chain {
    let chain = this.#byKind.get(kind);
    if (!chain) {
      chain = new Chain(onRoute(this.#rules, kind), this.#wire);
      this.#byKind.set(kind, chain);
    }
    return chain;
  }
}

/** The types say the same at compile time; a rule that got past them would never be called, without any other sign. */
function checkSubscription({ name, events, event }: Rule): void {
  if ((events === undefined) !== (event === undefined)) throw new Error(`rule ${name}: events and event need each other`);
  if (events === undefined || events === '*') return;
  const unknown = events.find((type) => type !== AGENT_FAMILY && !EVENT_TYPES.includes(type));
  if (unknown !== undefined) throw new Error(`rule ${name}: no reply event has the type ${unknown}`);
}

const onRoute = (rules: readonly Rule[], kind: RouteKind | undefined): readonly Rule[] =>
  rules.filter(({ routes }) => routes === '*' || (kind !== undefined && routes.includes(kind)));

/** The rules of one route kind, in order; a rule that is not on the route, or not in a phase, costs nothing there. */
class Chain {
  readonly rules: readonly Rule[];
  /** The rules that have a phase, in the order in which it runs. */
  readonly edit: readonly Link[];
  readonly attempt: readonly Link[];
  readonly head: readonly Link[];
  readonly refused: readonly Link[];
  readonly answer: readonly Link[];
  readonly end: readonly Link[];
  /** Of a turn whose request phases have not run. */
  readonly memories: readonly unknown[];
  /** By wire type, for each type that a rule names. */
  readonly #named: ReadonlyMap<string, readonly Link[]>;
  readonly #familyPrefix: string;
  readonly #family: readonly Link[];
  readonly #unnamed: readonly Link[];

  constructor(rules: readonly Rule[], wire: WireWords) {
    this.rules = rules;
    this.memories = rules.map((rule) => (rule.request ? SKIP : undefined));
    const down = rules.map((rule, index) => ({ rule, index }));
    const up = down.toReversed();
    this.edit = down.filter(({ rule }) => rule.edit);
    this.attempt = down.filter(({ rule }) => rule.attempt);
    this.head = up.filter(({ rule }) => rule.head);
    this.refused = up.filter(({ rule }) => rule.refused);
    this.answer = up.filter(({ rule }) => rule.answer);
    this.end = up.filter(({ rule }) => rule.end);
    const prefix = familyPrefix(wire);
    const listening = (...types: readonly EventType[]): readonly Link[] =>
      up.filter(({ rule: { events } }) => events === '*' || types.some((type) => events?.includes(type)));
    const named = new Set(rules.flatMap(({ events = [] }) => (events === '*' ? [] : events)));
    this.#named = new Map(
      [...named].map((type) => {
        const onWire = wireType(type, wire);
        return [onWire, onWire.startsWith(prefix) ? listening(type, AGENT_FAMILY) : listening(type)];
      }),
    );
    this.#familyPrefix = prefix;
    this.#family = listening(AGENT_FAMILY);
    this.#unnamed = listening();
  }

  /** The rules that subscribe to a type as it came, last rule first. It is a provider's text: an unknown one is not remembered. */
  listeners(type: string): readonly Link[] {
    return this.#named.get(type) ?? (type.startsWith(this.#familyPrefix) ? this.#family : this.#unnamed);
  }
}

/** The rules of one turn, with the memory of each. */
export class RuleRun {
  readonly #turn: Turn;
  readonly #chain: Chain;
  /** One for each rule; `SKIP` where the rule's later phases do not run. Set when the request phases have run. */
  #memories: readonly unknown[];

  constructor(chain: Chain, turn: Turn) {
    this.#chain = chain;
    this.#turn = turn;
    this.#memories = chain.memories;
  }

  admit(): void {
    for (const rule of this.#chain.rules) rule.admit?.(this.#turn);
  }

  /** Returns a promise only where a rule has to wait. */
  request(work: Work): Promise<void> | undefined {
    return this.#request(work, []);
  }

  /** Continues behind the rules that have a memory already. */
  #request(work: Work, memories: unknown[]): Promise<void> | undefined {
    const { rules } = this.#chain;
    while (memories.length < rules.length) {
      const rule = rules[memories.length] as Rule;
      const memory = rule.request?.(work, this.#turn);
      if (memory instanceof Promise) {
        return memory.then((settled) => {
          memories.push(settled);
          return this.#request(work, memories);
        });
      }
      memories.push(memory);
    }
    this.#memories = memories;
    return undefined;
  }

  /** Returns a promise only where a rule has to wait. */
  edit(work: Work): Promise<void> | undefined {
    return this.#edit(work, 0);
  }

  /** Continues with the edit of this number. */
  #edit(work: Work, from: number): Promise<void> | undefined {
    const { edit } = this.#chain;
    for (let i = from; i < edit.length; i++) {
      const { rule, index } = edit[i] as Link;
      const editing = this.#skips(index) ? undefined : rule.edit?.(work, this.#memories[index], this.#turn);
      if (editing) return editing.then(() => this.#edit(work, i + 1));
    }
    return undefined;
  }

  /** The rules' readers of one form, as one. */
  parts(): Required<PartReader> {
    const readers = this.#chain.rules.flatMap((rule) => rule.parts?.(this.#turn) ?? []);
    const through = (parts: readonly StreamedPart[], from: number): readonly StreamedPart[] =>
      readers.slice(from).reduce<readonly StreamedPart[]>((list, reader) => list.flatMap((part) => reader.part(part)), parts);
    return {
      part: (part) => through([part], 0),
      end: () => readers.flatMap((reader, i) => through(reader.end?.() ?? [], i + 1)),
    };
  }

  attempt(out: Outgoing): void {
    for (const { rule, index } of this.#chain.attempt) {
      if (!this.#skips(index)) rule.attempt?.(out, this.#memories[index], this.#turn);
    }
  }

  head(head: Head): Event[] {
    const first: Event[] = [];
    for (const { rule, index } of this.#chain.head) {
      const events = this.#skips(index) ? undefined : rule.head?.(head, this.#memories[index], this.#turn);
      if (events) first.push(...events);
    }
    return first;
  }

  refused(refusal: UpstreamRefusal): Refusal | undefined {
    for (const { rule, index } of this.#chain.refused) {
      const replacement = this.#skips(index) ? undefined : rule.refused?.(refusal, this.#memories[index], this.#turn);
      if (replacement) return replacement;
    }
    return undefined;
  }

  /** Whether a rule listens to events of this type; where none does, they are never parsed. */
  wants(type: string): boolean {
    for (const { index } of this.#chain.listeners(type)) if (!this.#skips(index)) return true;
    return false;
  }

  /** Maps one event, last rule first. The same object returned means: forward its bytes. */
  event(event: Event): Event | readonly Event[] {
    return this.#map(event, this.#chain.listeners(event.type), 0);
  }

  answer(response: JsonObject): JsonObject {
    let answer = response;
    for (const { rule, index } of this.#chain.answer) {
      if (!this.#skips(index) && rule.answer) answer = rule.answer(answer, this.#memories[index], this.#turn);
    }
    return answer;
  }

  /** Every rule's end runs, even if another one threw: it may be what settles an account. */
  end(outcome: Outcome, fault: (thrown: unknown) => void): (Event | Refusal)[] {
    const closing: (Event | Refusal)[] = [];
    for (const { rule, index } of this.#chain.end) {
      try {
        const last = this.#skips(index) ? undefined : rule.end?.(outcome, this.#memories[index], this.#turn);
        if (last) closing.push(...last);
      } catch (thrown) {
        fault(thrown);
      }
    }
    return closing;
  }

  #skips(index: number): boolean {
    return this.#memories[index] === SKIP;
  }

  #map(event: Event, listeners: readonly Link[], from: number): Event | readonly Event[] {
    let current = event;
    for (let i = from; i < listeners.length; i++) {
      const { rule, index } = listeners[i] as Link;
      if (this.#skips(index)) continue;
      const mapped = rule.event?.(current, this.#memories[index], this.#turn);
      if (mapped === null || mapped === undefined) return [];
      if (Array.isArray(mapped)) return mapped.flatMap((one: Event) => this.#map(one, listeners, i + 1));
      current = mapped as Event;
    }
    return current;
  }
}

/** The rules of a kind with their phases, as `routes` and `explain` print them. */
export function describeChain(rules: readonly Rule[], kind: RouteKind | undefined): { rule: string; phases: Phase[] }[] {
  return onRoute(rules, kind).map((rule) => ({
    rule: rule.name,
    phases: PHASES.filter((phase) => rule[phase] !== undefined),
  }));
}
