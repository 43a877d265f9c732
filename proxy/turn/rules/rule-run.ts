// Runs one turn through the phases of its rules, and keeps the memory of each rule.
import type { SlicedWork } from '../../base/process/slices.ts';
import type { Refusal } from '../errors/refusal.ts';
import type { StreamedPart } from '../json/form.ts';
import type { JsonObject } from '../json/json.ts';
import type { Event, Head, Outcome, Outgoing, Turn, Work } from '../turn.ts';
import { type PartReader, type Rule, SKIP, type UpstreamRefusal } from './rule.ts';
import type { Link, RuleChain } from './rule-chain.ts';

export class RuleRun {
  readonly #turn: Turn;
  readonly #chain: RuleChain;
  /** The memory of each rule. It is `SKIP` if the rule's later phases do not run. Set when the request phases have run. */
  #memories: readonly unknown[];
  #isAdmitted = false;

  constructor(chain: RuleChain, turn: Turn) {
    this.#chain = chain;
    this.#turn = turn;
    this.#memories = chain.memories;
  }

  /** Runs the rules once: a websocket turn is admitted when its session is looked up, before its run. @throws Refusal */
  admit(): void {
    if (this.#isAdmitted) return;
    for (const { rule } of this.#chain.admit) rule.admit?.(this.#turn);
    this.#isAdmitted = true;
  }

  /** Returns a promise only if a rule has to wait. */
  request(work: Work): Promise<void> | undefined {
    const { large } = this.#turn;
    return large ? this.#requestInSlices(work, large) : this.#request(work, []);
  }

  /** Each rule may read all of a large body. Other turns run between two rules. */
  async #requestInSlices(work: Work, large: SlicedWork): Promise<void> {
    const memories: unknown[] = [];
    for (const rule of this.#chain.rules) {
      if (rule.request) await large.pause();
      memories.push(await rule.request?.(work, this.#turn));
    }
    this.#memories = memories;
  }

  /** Continues with the first rule that has no memory yet. */
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

  /** Returns a promise only if a rule has to wait. */
  edit(work: Work): Promise<void> | undefined {
    const { large } = this.#turn;
    return large ? this.#editInSlices(work, large) : this.#edit(work, 0);
  }

  async #editInSlices(work: Work, large: SlicedWork): Promise<void> {
    for (const { rule, index } of this.#chain.edit) {
      if (this.#skips(index)) continue;
      await large.pause();
      await rule.edit?.(work, this.#memories[index], this.#turn);
    }
  }

  /** Continues with the edit at this index. */
  #edit(work: Work, from: number): Promise<void> | undefined {
    const { edit } = this.#chain;
    for (let i = from; i < edit.length; i++) {
      const { rule, index } = edit[i] as Link;
      const editing = this.#skips(index) ? undefined : rule.edit?.(work, this.#memories[index], this.#turn);
      if (editing) return editing.then(() => this.#edit(work, i + 1));
    }
    return undefined;
  }

  /** Combines the rules' readers of one form. */
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
      if (this.#skips(index) || rule.apis?.includes(out.api) === false) continue;
      rule.attempt?.(out, this.#memories[index], this.#turn);
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

  /** Whether a rule listens to events of this type. Events without a listener are never parsed. */
  wants(type: string): boolean {
    for (const { index } of this.#chain.listeners(type)) if (!this.#skips(index)) return true;
    return false;
  }

  /** Maps one event, last rule first. If the result is the same object, its bytes are forwarded. */
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

  /** Runs the end of every rule, even if another one threw, because each may have something to settle. */
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
