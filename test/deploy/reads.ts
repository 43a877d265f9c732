// Records which members of a value a schema reads. A cluster ignores unknown names with only a warning, so a misspelt setting would have no
// effect.

export class Reads {
  /** The value, whose reads are recorded. */
  readonly watched: unknown;
  readonly #value: unknown;
  readonly #read = new Set<string>();
  readonly #known = new WeakMap<object, unknown>();

  constructor(value: unknown) {
    this.#value = value;
    this.watched = this.#watch(value, '');
  }

  /** The paths of values that were not read, such as `spec.containers.0.name`; of an object that was not read, only its own path. */
  unread(): readonly string[] {
    return this.#unreadIn(this.#value, '');
  }

  #watch(value: unknown, path: string): unknown {
    if (typeof value !== 'object' || value === null) return value;
    const known = this.#known.get(value);
    if (known) return known;
    const watched = new Proxy(value, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof name === 'symbol' || !Object.hasOwn(target, name)) return member;
        this.#read.add(`${path}${name}`);
        return this.#watch(member, `${path}${name}.`);
      },
    });
    this.#known.set(value, watched);
    return watched;
  }

  #unreadIn(value: unknown, path: string): readonly string[] {
    if (typeof value !== 'object' || value === null) return [];
    return Object.entries(value).flatMap(([name, member]) =>
      this.#read.has(`${path}${name}`) ? this.#unreadIn(member, `${path}${name}.`) : [`${path}${name}`],
    );
  }
}
