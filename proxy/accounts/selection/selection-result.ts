// The result of a selection: the choice by affinity or by the Pool's strategy (Q7, Q11), and its reason in the turn's row; or the refusal
// if no account can take the turn (Q2).
import type { Why } from '../../../store/schema/logged-rows.ts';
import type { Affinity } from '../../turn/continuation.ts';
import { Refusal } from '../../turn/errors/refusal.ts';
import { isApiAccount } from '../../turn/provider/api-account.ts';
import type { LackReason } from '../../turn/provider/lack.ts';
import type { OverflowReason } from '../../turn/tiers.ts';
import { type AccountRecord, AVAILABILITIES, type Availability } from '../account-record.ts';
import type { Demand } from './demand.ts';
import type { CandidateIndex } from './index/candidate-index.ts';
import type { Candidate } from './strategies/strategy.ts';

/**
 * The reason why a turn did not go to an account that it should go to. `lower_tier` means that its conversation returned from a higher tier
 * (AA68).
 */
export type Left = Availability | LackReason | 'tried' | 'not_a_source' | 'over_bound' | 'lower_tier';

export interface Choice {
  /** The chosen account. */
  readonly record: AccountRecord;
  /** `hard_pin`, `soft_pin`, `locality`, `conversation`, or the Pool's strategy. */
  readonly reason: string;
  /** Absent for a hard pin, which is compared with no other account. */
  readonly index?: CandidateIndex;
  readonly tried: ReadonlySet<string>;
  /** Why the turn did not go to the account of its soft pin. */
  readonly leftSoftPin?: Left | undefined;
  /** Why the turn did not go to the account of its affinity. */
  readonly leftAffinity?: Left | undefined;
  /** The indexes of the model's tiers, in a Pool with tiers. */
  readonly tiers?: readonly CandidateIndex[];
  /** Why the turn left the lower tiers; undefined in the base tier, or if a conversation stays in its tier. */
  readonly overflow?: OverflowReason | undefined;
}

/** The choice if some accounts take the turn only without a part of it; these come after all others (AA19, AA21). */
export function preferredChoice(index: CandidateIndex, demand: Demand, tried: ReadonlySet<string>): Choice | undefined {
  const { lossy } = demand;
  const whole = lossy.size === 0 ? undefined : chooseIn(index, demand, new Set([...tried, ...lossy]));
  return whole ? { ...whole, tried } : chooseIn(index, demand, tried);
}

/**
 * Chooses by affinity, otherwise by the strategy. If an account is over its bound, the turn goes to the next choice of the strategy (Q11).
 */
function chooseIn(index: CandidateIndex, { turn, affinity, lacking }: Demand, tried: ReadonlySet<string>): Choice | undefined {
  const last = affinity?.account;
  const candidate = last === undefined ? undefined : index.find(last);
  const leftAffinity = last === undefined ? undefined : (lacking.get(last)?.reason ?? affinityIn(index, candidate, tried));
  const byAffinity = affinity && candidate ? { record: candidate.record, reason: affinity.reason, index, tried } : undefined;
  if (leftAffinity === 'available') return byAffinity;
  if (index.count('available', tried) === 0) return undefined;
  const passesOn = leftAffinity === 'over_bound' && !index.weighsLoad;
  const best = index.best(turn, passesOn && last !== undefined ? new Set([...tried, last]) : tried);
  // The strategy chooses the same account again, or no other account is available.
  if (!best || best === candidate) return byAffinity;
  return { record: best.record, reason: turn.pool.strategy, index, tried, leftAffinity };
}

function affinityIn(index: CandidateIndex, candidate: Candidate | undefined, tried: ReadonlySet<string>): Left {
  if (!candidate) return 'not_a_source';
  if (tried.has(candidate.record.id)) return 'tried';
  const availability = index.availability(candidate);
  return availability === 'available' && index.isOverBound(candidate) ? 'over_bound' : availability;
}

/** If a turn leaves the account of its affinity because of load, the affinity does not change. */
const LOAD: ReadonlySet<Left | undefined> = new Set<Left>(['over_bound', 'at_max_concurrent']);

/**
 * The affinity that the turn moves to its account. A turn above the base tier of its conversation does not move the conversation there
 * (AA68).
 */
export function movedAffinity(
  { record, overflow, index, tiers, leftAffinity }: Choice,
  affinity: Affinity | undefined,
): Pick<Affinity, 'learn'> | undefined {
  if (LOAD.has(leftAffinity)) return undefined;
  const isAbove = overflow !== undefined || (tiers !== undefined && tiers[0] !== index && affinity?.overflow === record.id);
  return isAbove && affinity?.overflowed ? { learn: (one) => affinity.overflowed?.(one) } : affinity;
}

/** The reason for the turn's row. The index has the counts, so a row costs the same whatever the number of accounts. */
export function whyOf(
  { turn: { pool }, lacking, tiers: tierDemand }: Pick<Demand, 'turn' | 'lacking' | 'tiers'>,
  { record, reason, index, tried, leftSoftPin, leftAffinity, tiers }: Choice,
): Why {
  const others: Record<string, number> = {};
  const why: { -readonly [Field in keyof Why]: Why[Field] } = { reason, others };
  if (leftSoftPin !== undefined) why.left_soft_pin = leftSoftPin;
  if (leftAffinity !== undefined) why.left_affinity = leftAffinity;
  if (!index) return why;
  const indexes = tiers ?? [index];
  let candidates = 0;
  for (const one of indexes) candidates += one.candidates.length;
  for (const availability of AVAILABILITIES) {
    // The chosen account is among the available ones unless a pin left the cohort and its overflow.
    let count = availability === 'available' && index.get(record) ? -1 : 0;
    for (const one of indexes) count += one.count(availability, tried);
    if (count > 0) others[availability === 'available' ? 'less_preferred' : availability] = count;
  }
  const closed = lacking.size > 0 || tierDemand ? [lacking, ...(tierDemand ? [tierDemand.excluded] : [])] : [];
  for (const lacks of closed) {
    for (const [id, { reason: lack }] of lacks) if (indexes.some((one) => one.find(id))) others[lack] = (others[lack] ?? 0) + 1;
  }
  const sent = closed.length === 0 ? tried.size : [...tried].filter((id) => !closed.some((lacks) => lacks.has(id))).length;
  if (sent > 0) others.tried = sent;
  const notSources = pool.assignments.length - candidates;
  if (notSources > 0) others.not_a_source = notSources;
  return why;
}

export interface UnavailableAccount {
  readonly record: AccountRecord;
  readonly availability: Availability;
}

/** Called only if no untried candidate is available. */
export const unavailableIn = (index: CandidateIndex, tried: ReadonlySet<string>): readonly UnavailableAccount[] =>
  index.candidates
    .filter(({ record }) => !tried.has(record.id))
    .map((candidate) => ({ record: candidate.record, availability: index.availability(candidate) }));

/** The states of an account without quota for the turn. */
export const EXHAUSTED: ReadonlySet<Availability> = new Set<Availability>(['out_of_quota', 'reserved']);

export interface RefusalContext {
  readonly scope: string;
  readonly now: number;
}

/**
 * `usage_limit_reached` if accounts are out of quota and no cooldown ends before the first reset; otherwise `no_eligible_account` with the
 * end of the first cooldown. An account that has to log in again has no end. An API account's reset is shown only if it stated it (AA62).
 */
export function noCandidate(unavailable: readonly UnavailableAccount[], context: RefusalContext): Refusal {
  const { scope, now } = context;
  const cooling = unavailable.filter(({ availability }) => availability === 'cooldown' || availability === 'probing');
  const exhausted = unavailable.filter(({ availability }) => EXHAUSTED.has(availability));
  const resets = exhausted.flatMap(({ record }) => unavailableUntil(record, context) ?? []);
  const cooldownEnd = Math.min(...cooling.map(({ record }) => record.health?.cooldownEnd(scope) ?? now));
  const resetAt = Math.min(...resets);
  if (exhausted.length > 0 && !(cooldownEnd < resetAt)) {
    const shown = Math.min(...exhausted.flatMap(({ record }) => shownReset(record, context) ?? []));
    const known = Number.isFinite(shown);
    return new Refusal('usage_limit_reached', known ? { resetsAt: Math.ceil(shown / 1000), retryAfterMs: shown - now } : {});
  }
  return new Refusal('no_eligible_account', Number.isFinite(cooldownEnd) ? { retryAfterMs: cooldownEnd - now } : {});
}

/** The later of the end of its cooldown and of its exhaustion or reserve; Unix milliseconds, undefined if it is not known. */
export const unavailableUntil = (record: AccountRecord, context: RefusalContext): number | undefined =>
  endOf(record, record.health?.cooldownEnd(context.scope), context);

/**
 * When an account is available again, as clients are informed; Unix milliseconds. The length of a cooldown that is the gateway's own says
 * nothing about the quota of an API account (AA62).
 */
function shownReset(record: AccountRecord, context: RefusalContext): number | undefined {
  const { current, health } = record;
  if (current && !isApiAccount(current.config)) return unavailableUntil(record, context);
  return endOf(record, health?.statedEnd(context.scope), context);
}

function endOf({ evidence, quota }: AccountRecord, cooldown: number | undefined, { now }: RefusalContext): number | undefined {
  const spent = evidence?.stateAt(now).exhausted ?? quota?.reserved;
  // A limit without a reset outlasts the cooldown: a usage read ends it (RB23).
  if (cooldown === undefined || !spent || spent.until === undefined) return spent ? spent.until : cooldown;
  return Math.max(cooldown, spent.until);
}
