// The rate limits that an API account has recently stated, by the account's own ids of models. They influence the choice of an account, and
// are not quota windows (AA39).
import { RATE_KINDS, type RateKind, type RateLimit } from '../../turn/provider/quota-statement.ts';

/** The longest time that a limit is remembered. It is forgotten at its reset, if that comes earlier. */
const FRESH_MS = 15 * 60_000;
/** The most models that are remembered, by the account's own ids. The oldest ones are forgotten first. */
const MOST_MODELS = 1_000;

interface Stated {
  readonly limits: readonly RateLimit[];
  /** Unix milliseconds. */
  readonly at: number;
}

export class AccountRates {
  readonly #now: () => number;
  readonly #byModel = new Map<string, Stated>();
  /** The account's own id for each exposed id. */
  #names: Readonly<Record<string, string>> = {};

  constructor(now: () => number) {
    this.#now = now;
  }

  configure(names: Readonly<Record<string, string>>): void {
    this.#names = names;
  }

  /** @param model the exposed id */
  record(model: string, limits: readonly RateLimit[]): void {
    const name = this.#nameOf(model);
    this.#byModel.delete(name);
    this.#byModel.set(name, { limits, at: this.#now() });
    for (const oldest of this.#byModel.keys()) {
      if (this.#byModel.size <= MOST_MODELS) break;
      this.#byModel.delete(oldest);
    }
  }

  /** The smallest remaining share for an exposed id; undefined if unknown. */
  left(model: string): number | undefined {
    const shares = this.#current(this.#byModel.get(this.#nameOf(model))).map(({ left }) => left);
    return shares.length > 0 ? Math.min(...shares) : undefined;
  }

  /** The smallest remaining share of each kind over all models, for operators. */
  get smallest(): Partial<Readonly<Record<RateKind, number>>> {
    const current = [...this.#byModel.values()].flatMap((stated) => this.#current(stated));
    return Object.fromEntries(
      RATE_KINDS.flatMap((kind) => {
        const shares = current.filter((limit) => limit.kind === kind).map(({ left }) => left);
        return shares.length > 0 ? [[kind, Math.min(...shares)] as const] : [];
      }),
    );
  }

  #nameOf(model: string): string {
    return Object.hasOwn(this.#names, model) ? (this.#names[model] ?? model) : model;
  }

  #current(stated: Stated | undefined): readonly RateLimit[] {
    const now = this.#now();
    if (!stated || now - stated.at >= FRESH_MS) return [];
    return stated.limits.filter(({ resetsAt }) => resetsAt === undefined || resetsAt > now);
  }
}
