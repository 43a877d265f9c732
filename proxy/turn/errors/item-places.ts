// The places of input items: which item of the request that the rules got is at a place of the request that is sent, after rules have moved items.

/** A change of the list of items, as `Array.splice` makes it. */
interface Splice {
  readonly at: number;
  readonly removed: number;
  readonly added: number;
}

const ITEM = /^input(?:\[(\d+)\]|\.(\d+))/;

export class ItemPlaces {
  readonly #splices: Splice[] = [];

  splice(at: number, removed: number, added: number): void {
    this.#splices.push({ at, removed, added });
  }

  /** Items were left out of a list: those that stay are the same objects. */
  filtered(before: readonly unknown[], after: readonly unknown[]): void {
    let kept = 0;
    for (const item of before) {
      if (kept < after.length && after[kept] === item) kept += 1;
      else this.splice(kept, 1, 0);
    }
  }

  /**
   * A path in the input as it was before all changes. Of an item that was added: that of the tools that it has now (Lite), else `input`.
   * Other paths stay.
   */
  before(param: string): string {
    const [place = '', bracketed, dotted] = ITEM.exec(param) ?? [];
    if (place === '') return param;
    const below = param.slice(place.length);
    let index = Number(bracketed ?? dotted);
    for (const { at, removed, added } of this.#splices.toReversed()) {
      if (index < at) continue;
      if (index < at + added) return below.startsWith('.tools') ? below.slice(1) : 'input';
      index += removed - added;
    }
    return (bracketed === undefined ? `input.${index}` : `input[${index}]`) + below;
  }
}
