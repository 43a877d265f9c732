// The places of input items. After rules have moved items, it finds the place in the request that the rules got for a place in the request
// that is sent.

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

  /** Notes that items were left out of a list. The remaining items are the same objects. */
  filtered(before: readonly unknown[], after: readonly unknown[]): void {
    let kept = 0;
    for (const item of before) {
      if (kept < after.length && after[kept] === item) kept += 1;
      else this.splice(kept, 1, 0);
    }
  }

  /**
   * Returns a path in the input as it was before all changes. For an item that was added it returns the path of the tools in it (Lite), or
   * `input`. Other paths do not change.
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
