// The ids of calls in a request. A client's id that the strictest server would refuse is replaced, in the call and in its output (AA42).
import { hash } from 'node:crypto';
import type { Adaptations } from '../../../turn/provider/adapted.ts';
import type { Quirks } from '../../../turn/provider/quirks.ts';

/** The longest id that the strictest server takes. */
const LONGEST_ID = 40;

export class CallIds {
  readonly #form: Quirks['tool_ids'];
  readonly #adapted: Adaptations;
  readonly #used = new Set<string>();

  constructor(form: Quirks['tool_ids'], adapted: Adaptations) {
    this.#form = form;
    this.#adapted = adapted;
  }

  /** The id for the next call of the conversation. Equal conversations get equal ids. @param id the client's id */
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
