// Start-time fair queueing: the order in which members are served, each in proportion to its weight.

interface Place<M> {
  readonly id: string;
  readonly member: M;
  weight: number;
  /** The virtual time at which the member's next turn starts. */
  start: number;
}

/**
 * Virtual time advances by one for each turn that every member of weight 1 got. A member that begins to wait starts at the current time. So
 * it is served before members that were just served, and gains nothing from the time in which it did not wait. Only served turns count: a
 * turn that leaves does not reduce the share of its member.
 */
export class FairOrder<M extends { readonly size: number }> {
  #now = 0;
  readonly #byId = new Map<string, Place<M>>();
  /**
   * Places by `start`. Members with the same start are in the order in which they got it. A member without waiting turns stays until `#now`
   * passes its start.
   */
  readonly #order: Place<M>[] = [];

  /** The number of turns that wait, over all members. */
  get size(): number {
    let size = 0;
    for (const { member } of this.#order) size += member.size;
    return size;
  }

  /** The member that is about to get a waiting turn. It is created if it does not exist. */
  join(id: string, weight: number, make: () => M): M {
    const known = this.#byId.get(id);
    if (known) {
      known.weight = weight;
      if (known.member.size === 0 && known.start < this.#now) this.#move(known, this.#now);
      return known.member;
    }
    const place: Place<M> = { id, member: make(), weight, start: this.#now };
    this.#byId.set(id, place);
    this.#insert(place);
    return place.member;
  }

  /**
   * Offers one place to the members in order, until `serve` returns true. That member pays for it. A member that was passed over keeps its
   * place.
   */
  serveNext(serve: (member: M) => boolean): boolean {
    for (const place of this.#order) {
      if (place.member.size === 0 || !serve(place.member)) continue;
      this.#charge(place);
      return true;
    }
    return false;
  }

  /** Charges a member for a turn. One that was passed over has a start in the past: it is served first once, and gets no further credit. */
  #charge(place: Place<M>): void {
    this.#now = Math.max(this.#now, place.start);
    this.#move(place, this.#now + 1 / place.weight);
    for (let first = this.#order[0]; first && first.member.size === 0 && first.start <= this.#now; first = this.#order[0]) {
      this.#order.shift();
      this.#byId.delete(first.id);
    }
  }

  #move(place: Place<M>, start: number): void {
    this.#order.splice(this.#order.indexOf(place), 1);
    place.start = start;
    this.#insert(place);
  }

  #insert(place: Place<M>): void {
    const after = this.#order.findLastIndex(({ start }) => start <= place.start);
    this.#order.splice(after + 1, 0, place);
  }
}
