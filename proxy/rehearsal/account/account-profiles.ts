// The profiles of simulated accounts: how an account behaves without a fault script, chosen by `base_url: rehearsal:NAME`.
import type { RehearsalProfile } from '../../turn/settings.ts';
import type { Fault } from '../faults/fault.ts';
import { simulatedTokens } from '../model/input-tokens.ts';
import { type Manners, POLITE } from './manners.ts';

/** One quota window as the account's provider counts it. */
export interface SimulatedQuotaWindow {
  readonly used_percent: number;
  readonly window_minutes: number;
  /** Unix seconds. Default: the end of the current window, counted from the epoch. */
  readonly reset_at?: number;
}

export interface SimulatedQuota {
  readonly primary: SimulatedQuotaWindow | null;
  readonly secondary: SimulatedQuotaWindow | null;
}

export interface AccountProfile {
  /** A description in one line for operators. */
  readonly description: string;
  /** The faults of the account's nth turn, counted from 1. @param bytes the size of the turn's body */
  readonly faults?: (turn: number, bytes: number) => readonly Fault[];
  /** The faults of an account of another API. Default: `faults`. */
  readonly apiFaults?: (turn: number) => readonly Fault[];
  /** The context window of the account's models in tokens, if it is smaller than that of the sample models. */
  readonly contextWindow?: number;
  /** Whether the usage read is also refused with 401. */
  readonly refusesUsage?: boolean;
  readonly quota?: SimulatedQuota;
  /** Top-level body members that are refused as unknown, as some providers do. */
  readonly refusedFields?: readonly string[];
  /** Sends comments, quota and metadata events before each turn. Default: only the events, and only on websockets. */
  readonly sendsPreamble?: boolean;
  /** Headers without which a network's guard answers with a page (RB3). */
  readonly requiredHeaders?: readonly string[];
  /** Whether the account refuses connections. */
  readonly unreachable?: boolean;
  /** Whether an account of another API takes requests of any form. */
  readonly acceptsAll?: boolean;
  /** Manners that differ from those of the real backend. */
  readonly manners?: Partial<Manners>;
}

/** The faults of the flaky account, in turn. */
const FLAKY_FAULTS: readonly Fault[] = [
  { kind: 'refuse', status: 503 },
  { kind: 'refuse', status: 429, retryAfter: 2 },
  { kind: 'refuse-inside' },
];

/** Enough for the instructions and tools of an agent, and for a short conversation. */
const NARROW_WINDOW = 40_000;

export const PROFILES: Readonly<Record<RehearsalProfile, AccountProfile>> = {
  steady: { description: 'answers every turn' },
  flaky: {
    description: 'refuses every third turn: first with 503, then with 429 and Retry-After, then inside a 200, and so on',
    faults: (turn) => {
      const fault = turn % 3 === 0 ? FLAKY_FAULTS[(turn / 3 - 1) % FLAKY_FAULTS.length] : undefined;
      return fault === undefined ? [] : [fault];
    },
  },
  slow: {
    description: 'waits 400 ms before it answers, and 40 ms before each event',
    faults: () => [
      { kind: 'stall', at: 'before-headers', ms: 400 },
      { kind: 'pace', ms: 40 },
    ],
  },
  exhausted: {
    description: 'is out of quota: 429 usage_limit_reached for an hour, or insufficient_quota of another API',
    apiFaults: () => [{ kind: 'refuse', status: 429, code: 'insufficient_quota' }],
    faults: () => [{ kind: 'refuse', status: 429, code: 'usage_limit_reached', resetsIn: 3600 }],
    quota: { primary: { used_percent: 100, window_minutes: 300 }, secondary: { used_percent: 60, window_minutes: 10_080 } },
  },
  broken: { description: 'fails every turn with 500', faults: () => [{ kind: 'refuse', status: 500 }] },
  expired: { description: 'refuses its credential: 401', faults: () => [{ kind: 'refuse', status: 401 }], refusesUsage: true },
  fragile: {
    description: 'loses the connection in the middle of every third turn, after visible text',
    faults: (turn) => (turn % 3 === 0 ? [{ kind: 'cut', at: { events: 8 } }] : []),
  },
  narrow: {
    description: 'has models with a context window of 40,000 tokens, and refuses longer turns with context_length_exceeded inside a 200',
    contextWindow: NARROW_WINDOW,
    faults: (_turn, bytes) => (simulatedTokens(bytes) > NARROW_WINDOW ? [{ kind: 'refuse-inside', code: 'context_length_exceeded' }] : []),
  },
  picky: {
    description: 'refuses max_output_tokens, temperature, top_p, safety_identifier and prompt_cache_retention',
    refusedFields: ['max_output_tokens', 'temperature', 'top_p', 'safety_identifier', 'prompt_cache_retention'],
  },
  polite: { description: 'accepts what the real backend refuses, and answers in the documented form', manners: POLITE, acceptsAll: true },
  guarded: {
    description: 'gets the challenge page of a network in place of its answers, without the headers originator and a versioned user-agent',
    requiredHeaders: ['originator', 'user-agent'],
  },
  chatty: { description: 'sends comments, quota and metadata events before each turn', sendsPreamble: true },
  unreachable: { description: 'refuses connections', unreachable: true },
};
