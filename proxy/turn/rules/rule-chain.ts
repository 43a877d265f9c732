// Compiles the ordered rules of a route kind for one configuration.
import { AGENT_FAMILY, EVENT_TYPES, type EventType, familyPrefix, wireType } from '../reply/event-types.ts';
import type { RouteKind } from '../routes/kinds.ts';
import type { WireWords } from '../settings.ts';
import { type Rule, SKIP } from './rule.ts';

const PHASES = ['admit', 'request', 'edit', 'parts', 'attempt', 'head', 'refused', 'event', 'answer', 'end'] as const;

export type Phase = (typeof PHASES)[number];

/** A rule of a chain, and the index of its memory in a turn. */
export interface Link {
  readonly rule: Rule;
  readonly index: number;
}

/** Has one chain for each route kind, which is compiled when it is first needed. */
export class Chains {
  readonly #byKind = new Map<RouteKind | undefined, RuleChain>();
  readonly #rules: readonly Rule[];
  readonly #wire: WireWords;

  /** @throws Error if a rule subscribes to an event that can never occur */
  constructor(rules: readonly Rule[], wire: WireWords) {
    for (const rule of rules) checkSubscription(rule);
    this.#rules = rules;
    this.#wire = wire;
  }

  of(kind: RouteKind | undefined): RuleChain {
    let chain = this.#byKind.get(kind);
    if (!chain) {
      chain = new RuleChain(onRoute(this.#rules, kind), this.#wire);
      this.#byKind.set(kind, chain);
    }
    return chain;
  }
}

/** Repeats at run time what the types check, because a rule that circumvents the types would silently never be called. */
function checkSubscription({ name, events, event }: Rule): void {
  if ((events === undefined) !== (event === undefined)) throw new Error(`rule ${name}: events and event need each other`);
  if (events === undefined || events === '*') return;
  const unknown = events.find((type) => type !== AGENT_FAMILY && !EVENT_TYPES.includes(type));
  if (unknown !== undefined) throw new Error(`rule ${name}: no reply event has the type ${unknown}`);
}

const onRoute = (rules: readonly Rule[], kind: RouteKind | undefined): readonly Rule[] =>
  rules.filter(({ routes }) => routes === '*' || (kind !== undefined && routes.includes(kind)));

/** The rules of one route kind, in order. A rule that is not on the route, or not in a phase, costs nothing there. */
export class RuleChain {
  readonly rules: readonly Rule[];
  /** The rules of a phase, in the order in which they run. */
  readonly admit: readonly Link[];
  readonly edit: readonly Link[];
  readonly attempt: readonly Link[];
  readonly head: readonly Link[];
  readonly refused: readonly Link[];
  readonly answer: readonly Link[];
  readonly end: readonly Link[];
  /** The memories of a turn before its request phases. */
  readonly memories: readonly unknown[];
  /** The listeners of each type that a rule names, by wire type. */
  readonly #named: ReadonlyMap<string, readonly Link[]>;
  readonly #familyPrefix: string;
  readonly #family: readonly Link[];
  readonly #unnamed: readonly Link[];

  constructor(rules: readonly Rule[], wire: WireWords) {
    this.rules = rules;
    this.memories = rules.map((rule) => (rule.request ? SKIP : undefined));
    const down = rules.map((rule, index) => ({ rule, index }));
    const up = down.toReversed();
    this.admit = down.filter(({ rule }) => rule.admit);
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

  /** The rules that subscribe to a type, last rule first. The type is a provider's text, so an unknown one is not cached. */
  listeners(type: string): readonly Link[] {
    return this.#named.get(type) ?? (type.startsWith(this.#familyPrefix) ? this.#family : this.#unnamed);
  }
}

/** The rules of a kind with their phases, as `routes` and `explain` print them. */
export function describeChain(rules: readonly Rule[], kind: RouteKind | undefined): { rule: string; phases: Phase[] }[] {
  return onRoute(rules, kind).map((rule) => ({
    rule: rule.name,
    phases: PHASES.filter((phase) => rule[phase] !== undefined),
  }));
}
