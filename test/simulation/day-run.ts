// Runs one day with one router on a virtual clock, and counts the results of its turns.
import { isRetryable } from '../../proxy/turn/errors/failure.ts';
import type { Day, SessionKind, SessionPlan, TurnPlan } from './day.ts';
import { failure, SimulatedAccount } from './provider.ts';
import type { Place, Router } from './router.ts';
import { VirtualClock } from './virtual-clock.ts';

export interface CacheUse {
  /** Turns with a cached prompt at an account that could answer. */
  warm: number;
  /** The number of these turns that went to such an account. */
  hits: number;
}

export interface DayResult {
  readonly name: string;
  readonly turns: number;
  readonly answered: number;
  /** Turns that no account could take, or that failed too often. */
  readonly refused: number;
  /** Turns that an outage of their account cut. */
  readonly cut: number;
  /** Attempts after the first of their turn. */
  readonly retries: number;
  /** The standard deviation of the used shares of the accounts' quota, divided by their mean. */
  readonly spread: number;
  readonly cached: Readonly<Record<SessionKind, CacheUse>>;
  /** The median time in milliseconds to the first event of the first turns of sessions. */
  readonly firstEventMs: number;
  /** The first turns of sessions, by the account that answered. */
  readonly firstTurns: ReadonlyMap<string, number>;
  /** Sessions with a continuity header, their moves to another account, and the moves without a failure of the account that they left. */
  readonly sessions: number;
  readonly moves: number;
  readonly unforced: number;
}

/** A provider drops a cached prompt after this time without use. */
const CACHED_MS = 600_000;
/** The time after which a refusal arrives. */
const REFUSAL_MS = { connect: 40, server: 300, rate: 150, quota: 150, credential: 120 } as const;

export async function runDay(
  day: Day,
  routerOf: (accounts: readonly SimulatedAccount[], clock: VirtualClock) => Router,
): Promise<DayResult> {
  const clock = new VirtualClock(day.from);
  const accounts = day.accounts.map((plan) => new SimulatedAccount(plan));
  const run = new DayRun(accounts, clock, routerOf(accounts, clock));
  for (const session of day.sessions) clock.after(session.at - day.from, () => run.begin(session));
  while (clock.step(day.to)) if (run.router.waiting()) await new Promise(setImmediate);
  return run.result();
}

class DayRun {
  readonly router: Router;
  readonly #clock: VirtualClock;
  readonly #accounts: ReadonlyMap<string, SimulatedAccount>;
  readonly #given = new Map<string, number>();
  readonly #failedAt = new Map<string, number>();
  readonly #firstTurns = new Map<string, number>();
  /** The times of the first turns of sessions, whose account the strategy chooses. */
  readonly #firstEvents: number[] = [];
  readonly #cached: Record<SessionKind, CacheUse> = {
    pinned: { warm: 0, hits: 0 },
    keyed: { warm: 0, hits: 0 },
    unnamed: { warm: 0, hits: 0 },
  };
  readonly #counts = { turns: 0, answered: 0, refused: 0, cut: 0, retries: 0, sessions: 0, moves: 0, unforced: 0 };

  constructor(accounts: readonly SimulatedAccount[], clock: VirtualClock, router: Router) {
    this.#accounts = new Map(accounts.map((account) => [account.id, account]));
    this.#clock = clock;
    this.router = router;
  }

  begin(plan: SessionPlan): void {
    if (plan.kind === 'pinned') this.#counts.sessions += 1;
    const session: Session = { plan, next: 0, last: undefined, lastAt: 0, caches: new Map() };
    this.#ask(session);
  }

  result(): DayResult {
    const shares = [...this.#accounts.values()].map(({ id, plan }) => (this.#given.get(id) ?? 0) / plan.quota);
    const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
    const variance = shares.reduce((sum, share) => sum + (share - mean) ** 2, 0) / shares.length;
    return {
      name: this.router.name,
      ...this.#counts,
      spread: Math.sqrt(variance) / mean,
      cached: this.#cached,
      firstTurns: this.#firstTurns,
      firstEventMs: median(this.#firstEvents),
    };
  }

  #ask(session: Session): void {
    const turn = session.plan.turns[session.next];
    if (!turn) return;
    this.#counts.turns += 1;
    const { id, kind } = session.plan;
    const asking = { id: `${id}/${session.next}`, session: id, kind, number: session.next, takesMs: turn.takesMs, last: session.last };
    session.next += 1;
    try {
      const route = this.router.route(asking);
      this.#attempt({ session, turn, route, tried: new Set(), wasWarm: this.#isWarm(session) });
    } catch {
      this.#refuse(session);
    }
  }

  /** Whether an account that could answer now has its prompt cached. */
  #isWarm({ caches }: Session): boolean {
    const now = this.#clock.now();
    for (const [id, at] of caches) {
      const account = this.#accounts.get(id);
      if (account && now - at < CACHED_MS && account.wouldAnswer(now) && account.inFlight < account.plan.maxConcurrent) return true;
    }
    return false;
  }

  #attempt(running: Running): void {
    const { session, route, tried } = running;
    const refuse = (): void => this.#refuse(session);
    try {
      const choosing = route.choose(tried);
      if (choosing instanceof Promise) void choosing.then((place) => (place ? this.#at(place, running) : refuse()), refuse);
      else this.#at(choosing, running);
    } catch {
      refuse();
    }
  }

  #at(place: Place, running: Running): void {
    const { session, turn, tried, route } = running;
    const account = this.#accounts.get(place.account) as SimulatedAccount;
    tried.add(account.id);
    const refused = account.begin(turn.cost, this.#clock.now());
    if (!refused) {
      this.#answer(place, account, running);
      return;
    }
    this.#failedAt.set(account.id, this.#clock.now());
    this.#clock.after(REFUSAL_MS[refused.cause as keyof typeof REFUSAL_MS], () => {
      route.observe(account, refused);
      place.end(refused);
      if (isRetryable(refused) && route.mayRetry(tried)) {
        this.#counts.retries += 1;
        this.#attempt(running);
      } else this.#refuse(session);
    });
  }

  #answer(place: Place, account: SimulatedAccount, running: Running): void {
    const now = this.#clock.now();
    const { session, turn, route } = running;
    this.#given.set(account.id, (this.#given.get(account.id) ?? 0) + turn.cost);
    const { last } = session;
    this.#recordPlace(account, running);
    const diesAt = account.upUntil(now);
    const cut = diesAt < now + turn.takesMs;
    const firstEventMs = account.firstEventMs(now);
    if (last === undefined) this.#firstEvents.push(firstEventMs);
    const answer = { at: now + firstEventMs, end: cut ? diesAt : now + turn.takesMs };
    if (answer.at < answer.end) {
      this.#clock.after(firstEventMs, () => {
        route.observe(account, undefined);
        place.answered();
      });
    }
    this.#clock.after(answer.end - now, () => {
      account.end();
      if (cut) {
        this.#counts.cut += 1;
        this.#failedAt.set(account.id, this.#clock.now());
        place.end(failure('network', 0));
      } else {
        this.#counts.answered += 1;
        place.end('completed');
      }
      this.#next(session);
    });
  }

  /** Records the account of the session, and whether a move was forced. */
  #recordPlace(account: SimulatedAccount, { session, wasWarm }: Running): void {
    const { plan, last, lastAt, caches } = session;
    const now = this.#clock.now();
    if (wasWarm) {
      const use = this.#cached[plan.kind];
      use.warm += 1;
      if (now - (caches.get(account.id) ?? 0) < CACHED_MS) use.hits += 1;
    }
    if (last === undefined) this.#firstTurns.set(account.id, (this.#firstTurns.get(account.id) ?? 0) + 1);
    caches.set(account.id, now);
    if (plan.kind === 'pinned' && last !== undefined && last !== account.id) {
      this.#counts.moves += 1;
      const left = this.#accounts.get(last) as SimulatedAccount;
      if (left.wouldAnswer(now) && (this.#failedAt.get(last) ?? 0) < lastAt) this.#counts.unforced += 1;
    }
    session.last = account.id;
    session.lastAt = now;
  }

  #refuse(session: Session): void {
    this.#counts.refused += 1;
    this.#next(session);
  }

  #next(session: Session): void {
    const next: TurnPlan | undefined = session.plan.turns[session.next];
    if (next) this.#clock.after(next.thinkMs, () => this.#ask(session));
  }
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

interface Session {
  readonly plan: SessionPlan;
  next: number;
  last: string | undefined;
  lastAt: number;
  /** The accounts that had turns of the session, with the time of the last one. */
  readonly caches: Map<string, number>;
}

interface Running {
  readonly session: Session;
  readonly turn: TurnPlan;
  readonly route: ReturnType<Router['route']>;
  readonly tried: Set<string>;
  readonly wasWarm: boolean;
}
