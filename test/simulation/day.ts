// The plan of a simulated day, drawn before the day begins, so every strategy gets the same sessions and the same outages.
import { SeededRandom } from './seeded-random.ts';

export interface DayOptions {
  readonly seed: number;
  readonly accounts: number;
  readonly sessions: number;
  readonly hours: number;
  /** The quota of all windows divided by the cost of all turns. */
  readonly supply: number;
  /** The length of the windows of the accounts' quota; five hours by default. */
  readonly windowMs?: number;
  /** The limit of each account; 32 by default. */
  readonly maxConcurrent?: number;
}

/** How an account fails: it refuses connections, answers 503, or answers 429 with Retry-After. */
export type OutageKind = 'connect' | 'server' | 'rate';

export interface Outage {
  readonly from: number;
  readonly to: number;
  readonly kind: OutageKind;
}

/** The times to the first event in milliseconds, before and after a certain hour of the day. */
export interface FirstEvents {
  readonly before: number;
  readonly changeAt: number;
  readonly after: number;
}

export interface AccountPlan {
  readonly id: string;
  readonly maxConcurrent: number;
  /** Cost units in one window. */
  readonly quota: number;
  /** Cost units of the first window that were used before the day. */
  readonly usedBefore: number;
  readonly windowMs: number;
  /** The first reset in the day. */
  readonly firstResetAt: number;
  /** The outages in order, without overlap. */
  readonly outages: readonly Outage[];
  /** The time from which its credential is refused. */
  readonly loggedOutAt: number;
  /** The time to the first event of its replies, which changes during the day. */
  readonly firstEvents: FirstEvents;
}

/**
 * `pinned`: the client sends a continuity header, as native clients do. `keyed`: each session has a new `prompt_cache_key`, as with popular
 * SDK clients. `unnamed`: neither; each turn repeats the conversation.
 */
export type SessionKind = 'pinned' | 'keyed' | 'unnamed';

export interface TurnPlan {
  /** The time after the answer to the previous turn. */
  readonly thinkMs: number;
  readonly takesMs: number;
  readonly cost: number;
}

export interface SessionPlan {
  readonly id: string;
  readonly kind: SessionKind;
  readonly at: number;
  readonly turns: readonly TurnPlan[];
}

export interface Day {
  readonly from: number;
  readonly to: number;
  readonly accounts: readonly AccountPlan[];
  readonly sessions: readonly SessionPlan[];
}

const HOUR = 3_600_000;
const WINDOW_MS = 5 * HOUR;
const START = Date.UTC(2030, 0, 1);
const OUTAGE_KINDS: readonly OutageKind[] = ['connect', 'server', 'rate'];

export function dayOf({ seed, accounts, sessions, hours, supply, windowMs = WINDOW_MS, maxConcurrent = 32 }: DayOptions): Day {
  const random = new SeededRandom(seed);
  const to = START + hours * HOUR;
  const plans = Array.from({ length: sessions }, (_, i) => sessionOf(i, random, hours));
  const demand = plans.reduce((sum, plan) => sum + costUntil(to, plan), 0);
  const windows = (accounts * hours * HOUR) / windowMs;
  const quota = (demand * supply) / windows;
  return {
    from: START,
    to,
    sessions: plans,
    accounts: Array.from({ length: accounts }, (_, i) => accountOf(i, random, { quota, to, windowMs, maxConcurrent })),
  };
}

/** The cost of its turns that begin before the end of the day, if none is refused. */
function costUntil(to: number, { at, turns }: SessionPlan): number {
  let cost = 0;
  let time = at;
  for (const turn of turns) {
    if (time >= to) break;
    cost += turn.cost;
    time += turn.takesMs + turn.thinkMs;
  }
  return cost;
}

interface Supply {
  /** The mean quota of the accounts. */
  readonly quota: number;
  /** The end of the day. */
  readonly to: number;
  readonly windowMs: number;
  readonly maxConcurrent: number;
}

/** Sessions come in two waves, because half of the day is quiet. */
function sessionOf(index: number, random: SeededRandom, hours: number): SessionPlan {
  let hour = 0;
  do hour = random.between(0, hours * 0.95);
  while (random.next() > 0.55 + 0.45 * Math.sin((hour / (hours / 2)) * 2 * Math.PI));
  const kind = random.next();
  const turns = 1 + Math.floor(random.exponential(11));
  return {
    id: `session-${index}`,
    kind: kind < 0.65 ? 'pinned' : kind < 0.9 ? 'keyed' : 'unnamed',
    at: START + hour * HOUR,
    turns: Array.from({ length: turns }, () => ({
      thinkMs: random.exponential(25_000),
      takesMs: Math.min(600_000, random.logNormal(12_000, 0.9)),
      cost: random.logNormal(1, 0.7),
    })),
  };
}

/** Drawn separately from the rest of the day. */
function firstEventsOf(index: number, to: number): FirstEvents {
  const random = new SeededRandom(1_000 + index);
  const draw = (): number => random.logNormal(900, 0.5);
  return { before: draw(), changeAt: START + random.between(0.2, 0.8) * (to - START), after: draw() };
}

function accountOf(index: number, random: SeededRandom, { quota, to, windowMs, maxConcurrent }: Supply): AccountPlan {
  const outages: Outage[] = [];
  for (let at = START + random.exponential(6 * HOUR); at < to; ) {
    const lasts = random.logNormal(240_000, 0.9);
    outages.push({ from: at, to: at + lasts, kind: OUTAGE_KINDS[Math.floor(random.next() * OUTAGE_KINDS.length)] as OutageKind });
    at += lasts + random.exponential(6 * HOUR);
  }
  return {
    id: `account-${index}`,
    maxConcurrent,
    quota: quota * random.between(0.6, 1.4),
    usedBefore: 0,
    windowMs,
    firstResetAt: START + random.between(0, windowMs),
    outages,
    // One account in twelve loses its login.
    loggedOutAt: index % 12 === 5 ? START + random.between(0.2, 0.8) * (to - START) : Number.POSITIVE_INFINITY,
    firstEvents: firstEventsOf(index, to),
  };
}
