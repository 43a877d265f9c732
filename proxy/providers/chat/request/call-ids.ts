// The ids of calls as they go out: a client's id that the strictest server would refuse is replaced, in call and output alike (AA42).
import { hash } from 'node:crypto';
import type { Adaptations } from '../../../turn/provider/adapted.ts';
import type { Quirks } from '../../../turn/provider/quirks.ts';

/** What the strictest server takes. */
const LONGEST_ID = 40;

export class CallIds {
  readonly #form: Quirks['tool_ids'];
  readonly #adapted: Adaptations;
  readonly #used = new Set<string>();

  constructor(form: Quirks['tool_ids'], adapted: Adaptations) {
    this.#form = form;
    this.#adapted = adapted;
  }

  /** The id of the next call of the conversation; equal conversations have equal ids. @param id of the client */
  next(id: string | undefined): string {
    if (this.#form === 'any' && id !== undefined && id.length <= LONGEST_ID && !this.#used.has(id)) {
      this.#used.add(id);
      return id;
    }
    this.#adapted.note('input.call_id');
    for (let nth = 0; ; nth++) {
      const digest = hash('sha256', `${id ?? `call ${this.#used.size}`} ${nth}`, 'hex');
      const made = this.#form === 'alnum9' ? digest.slice(0, 9) : `call_${digest.slice(0, 24)}`;
      if (this.#used.has(made)) continue;
      this.#used.add(made);
      return made;
    }
  }
}
