// One day, drawn before it begins, so that every strategy lives through the same: who asks for what and when, and which account fails when.
import { Chance } from './chance.ts';

export interface DayOptions {
  readonly seed: number;
  readonly accounts: number;
  readonly sessions: number;
  readonly hours: number;
  /** What the accounts' windows hold together, over what is asked for. */
  readonly supply: number;
}

/** How an account fails: it refuses connections, answers 503, or says 429 with Retry-After. */
export type Ailment = 'connect' | 'server' | 'rate';

export interface Outage {
  readonly from: number;
  readonly to: number;
  readonly ailment: Ailment;
}

export interface AccountPlan {
  readonly id: string;
  readonly maxConcurrent: number;
  /** Cost units in one window. */
  readonly quota: number;
  readonly windowMs: number;
  /** When its first window in the day begins anew. */
  readonly firstResetAt: number;
  /** In order, apart from each other. */
  readonly outages: readonly Outage[];
  /** From then on it wants another login. */
  readonly loggedOutAt: number;
}

/** `pinned`: it has a continuity header, as native clients do. `keyed`: only a prompt-cache key. `loose`: neither. */
export type SessionKind = 'pinned' | 'keyed' | 'loose';

export interface TurnPlan {
  /** After the answer to the one before. */
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
const AILMENTS: readonly Ailment[] = ['connect', 'server', 'rate'];

export function dayOf({ seed, accounts, sessions, hours, supply }: DayOptions): Day {
  const chance = new Chance(seed);
  const to = START + hours * HOUR;
  const people = Array.from({ length: sessions }, (_, i) => sessionOf(i, chance, hours));
  const asked = people.reduce((sum, { turns }) => sum + turns.reduce((cost, turn) => cost + turn.cost, 0), 0);
  const windows = (accounts * hours * HOUR) / WINDOW_MS;
  const quota = (asked * supply) / windows;
  return {
    from: START,
    to,
    sessions: people,
    accounts: Array.from({ length: accounts }, (_, i) => accountOf(i, chance, { quota, to })),
  };
}

/** Half of the day is quiet: people come in waves. */
function sessionOf(index: number, chance: Chance, hours: number): SessionPlan {
  let hour = 0;
  do hour = chance.between(0, hours * 0.95);
  while (chance.next() > 0.55 + 0.45 * Math.sin((hour / 12) * 2 * Math.PI));
  const kind = chance.next();
  const turns = 1 + Math.floor(chance.wait(11));
  return {
    id: `session-${index}`,
    kind: kind < 0.65 ? 'pinned' : kind < 0.9 ? 'keyed' : 'loose',
    at: START + hour * HOUR,
    turns: Array.from({ length: turns }, () => ({
      thinkMs: chance.wait(25_000),
      takesMs: Math.min(600_000, chance.skewed(12_000, 0.9)),
      cost: chance.skewed(1, 0.7),
    })),
  };
}

function accountOf(index: number, chance: Chance, { quota, to }: { readonly quota: number; readonly to: number }): AccountPlan {
  const outages: Outage[] = [];
  for (let at = START + chance.wait(6 * HOUR); at < to; ) {
    const lasts = chance.skewed(240_000, 0.9);
    outages.push({ from: at, to: at + lasts, ailment: AILMENTS[Math.floor(chance.next() * AILMENTS.length)] as Ailment });
    at += lasts + chance.wait(6 * HOUR);
  }
  return {
    id: `account-${index}`,
    maxConcurrent: 32,
    quota: quota * chance.between(0.6, 1.4),
    windowMs: WINDOW_MS,
    firstResetAt: START + chance.between(0, WINDOW_MS),
    outages,
    // One in twelve.
    loggedOutAt: index % 12 === 5 ? START + chance.between(0.2, 0.8) * (to - START) : Number.POSITIVE_INFINITY,
  };
}
