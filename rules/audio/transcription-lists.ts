// Keeps the order and duplicates of the lists of a transcription. An empty list, which a form can only spell as one empty part, is omitted
// (D11, Q23).
import type { StreamedPart } from '../../proxy/turn/json/form.ts';
import { type PartReader, rule } from '../../proxy/turn/rules/rule.ts';
import type { Turn } from '../../proxy/turn/turn.ts';
import { TRANSCRIPTIONS } from '../route-groups.ts';
import { type ListName, listOf } from './transcription-fields.ts';

export const transcriptionLists = rule({
  name: 'transcription-lists',
  routes: TRANSCRIPTIONS,
  parts: (turn) => new Lists(turn),
});

/** Holds an empty first part of a list until a second part of that list arrives. Without a second part the list is empty and omitted. */
class Lists implements PartReader {
  readonly #turn: Turn;
  readonly #waiting = new Map<ListName, StreamedPart>();
  readonly #begun = new Set<ListName>();

  constructor(turn: Turn) {
    this.#turn = turn;
  }

  part(part: StreamedPart): readonly StreamedPart[] {
    const list = part.kind === 'field' ? listOf(part.name) : undefined;
    if (part.kind !== 'field' || list === undefined) return [part];
    const first = !this.#begun.has(list);
    this.#begun.add(list);
    if (first && part.value === '') {
      this.#waiting.set(list, part);
      return [];
    }
    // Accounts of other APIs do not take such lists, so accounts that take them are preferred (AA36).
    if (!this.#turn.hints.includes(list)) this.#turn.hints = [...this.#turn.hints, list];
    const before = this.#waiting.get(list);
    this.#waiting.delete(list);
    return before ? [before, part] : [part];
  }
}
