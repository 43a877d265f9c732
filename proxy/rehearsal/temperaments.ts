// The temperaments: how an account behaves by itself, chosen by `base_url: rehearsal:NAME`.
import type { Quota } from './account.ts';
import type { Fault } from './fault.ts';

export interface Temperament {
  /** One line for operators. */
  readonly does: string;
  /** The faults of this account's nth turn, counted from 1. */
  readonly faults?: (turn: number) => readonly Fault[];
  /** Applied to the usage read too: the account is refused as a whole. */
  readonly refusesUsage?: boolean;
  readonly quota?: Quota;
  /** Top-level body members that are refused as unknown, as some providers do. */
  readonly refusedFields?: readonly string[];
  /** Sends comments, quota and metadata events before the turn begins. */
  readonly chatty?: boolean;
  /** Nothing listens at the address. */
  readonly unreachable?: boolean;
}

/** What the flaky account does at its failing turns, one after the other. */
const mishaps: readonly Fault[] = [
  { kind: 'refuse', status: 503 },
  { kind: 'refuse', status: 429, retryAfter: 2 },
  { kind: 'refuse-inside' },
];

export const steady: Temperament = { does: 'answers every turn' };

const temperaments: Readonly<Record<string, Temperament>> = {
  steady,
  flaky: {
    does: 'refuses every third turn: in turn with 503, with 429 and Retry-After, and inside a 200',
    faults: (turn) => {
      const mishap = turn % 3 === 0 ? mishaps[(turn / 3 - 1) % mishaps.length] : undefined;
      return mishap === undefined ? [] : [mishap];
    },
  },
  slow: {
    does: 'waits 400 ms before it answers, and 40 ms before each event',
    faults: () => [
      { kind: 'stall', at: 'before-headers', ms: 400 },
      { kind: 'pace', ms: 40 },
    ],
  },
  exhausted: {
    does: 'is out of quota for an hour: 429 usage_limit_reached',
    faults: () => [{ kind: 'refuse', status: 429, code: 'usage_limit_reached', resetsIn: 3600 }],
    quota: { primary: { used_percent: 100, window_minutes: 300 }, secondary: { used_percent: 60, window_minutes: 10_080 } },
  },
  broken: { does: 'fails every turn with 500', faults: () => [{ kind: 'refuse', status: 500 }] },
  expired: { does: 'wants to be logged in again: 401', faults: () => [{ kind: 'refuse', status: 401 }], refusesUsage: true },
  fragile: {
    does: 'loses the connection in the middle of every third turn, after visible text',
    faults: (turn) => (turn % 3 === 0 ? [{ kind: 'cut', at: { events: 8 } }] : []),
  },
  picky: {
    does: 'refuses max_output_tokens, temperature, top_p, safety_identifier and prompt_cache_retention',
    refusedFields: ['max_output_tokens', 'temperature', 'top_p', 'safety_identifier', 'prompt_cache_retention'],
  },
  chatty: { does: 'sends comments, quota and metadata events before each turn', chatty: true },
  unreachable: { does: 'refuses connections', unreachable: true },
};

/** Every temperament's name and what it does, for messages and documentation. */
export const temperamentNames: ReadonlyMap<string, string> = new Map(
  Object.entries(temperaments).map(([name, temperament]) => [name, temperament.does]),
);

/** The temperament of `rehearsal:NAME`; the empty name is steady. Undefined for a name that does not exist. */
export function temperamentOf(name: string): Temperament | undefined {
  if (name === '') return steady;
  return Object.hasOwn(temperaments, name) ? temperaments[name] : undefined;
}
