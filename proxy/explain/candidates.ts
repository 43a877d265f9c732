// Explains which accounts of a Pool are candidates for a turn; for each account the first reason that applies (UA1, Q12).
import type { Standing } from '../accounts/selection/candidate-accounts.ts';
import { priceAt } from '../turn/prices.ts';
import { isApiAccount } from '../turn/provider/api-account.ts';
import type { AccountConfig, AssignmentConfig } from '../turn/settings.ts';
import { tiersOf } from '../turn/tiers.ts';
import type { Facts, LiveSource } from './facts.ts';

export interface ExplainedAccount {
  readonly account: string;
  /** `first` is preferred to `overflow`; `pinned` takes only turns that are pinned to it; `higher_tier` those that lower tiers cannot take; `unknown` without the running gateway. */
  readonly takes: 'first' | 'overflow' | 'pinned' | 'higher_tier' | 'no' | 'unknown';
  readonly why: string;
}

export function explainAccounts(facts: Facts): readonly ExplainedAccount[] {
  const { pool, config } = facts;
  return pool.assignments.map((assignment) => {
    const account = config.accounts.find(({ id }) => id === assignment.account);
    const lack = facts.lacking.get(assignment.account);
    const excluded = excludedBy(assignment, account) ?? (lack && `accounts of the API ${lack.api} take no such turn (${lack.reason})`);
    const result: Candidacy = excluded === undefined ? candidacy(assignment.account, facts) : { takes: 'no', why: excluded };
    const kind = account && kindOf(account);
    return { account: assignment.account, takes: result.takes, why: kind === undefined ? result.why : `${result.why}; ${kind}` };
  });
}

/** Undefined for accounts of agent backends. */
function kindOf(account: AccountConfig): string | undefined {
  if (!isApiAccount(account)) return undefined;
  return `a ${account.api} account${account.preset === undefined ? '' : ` of preset ${account.preset}`}`;
}

/** Why the configuration alone excludes the account (UA1). */
function excludedBy({ active, eligible }: AssignmentConfig, account: AccountConfig | undefined): string | undefined {
  if (account?.paused) return 'the account is paused';
  if (!active) return 'its assignment is not active';
  if (!eligible) return 'its assignment is not eligible';
  return account?.visible ? undefined : 'the account is not visible';
}

type Candidacy = Pick<ExplainedAccount, 'takes' | 'why'>;

function candidacy(id: string, facts: Facts): Candidacy {
  const { live, model, pool, now } = facts;
  if (model === undefined) return { takes: 'first', why: `every turn of the Pool, by its strategy ${pool.strategy}` };
  if (!live) return { takes: 'unknown', why: 'its catalog and its health are known to the running gateway' };
  const source = live.sources.find(({ account }) => account === id);
  if (!source) return { takes: 'no', why: `it does not list ${model}` };
  if (live.presence === 'suppressed') return { takes: 'no', why: `${model} is suppressed in this Pool` };
  const { standing } = source;
  if (!standing) return { takes: 'no', why: 'a change of the configuration excludes it' };
  if (standing.availability !== 'available') return { takes: 'no', why: unavailable(standing, now) };
  const place = source.place === 'higher' ? higherTier(source, facts) : PLACES[source.place](source);
  return { ...place, why: `${place.why}; ${loadOf(standing)}` };
}

const windowOf = ({ window }: LiveSource): string => (window === undefined ? 'no stated window' : `a window of ${window}`);

/** With its price and its caps (AA72). */
function higherTier({ account: id, tier }: LiveSource, { config, pool, model, key }: Facts): Candidacy {
  const account = config.accounts.find((one) => one.id === id);
  const prices = account && priceAt(account, model, pool);
  const price = prices ? `${prices.input} USD for a million tokens of input and ${prices.output} of output` : 'no price';
  const caps = tiersOf(pool).capsOf(tier);
  const limits = caps.flatMap((cap) =>
    Object.entries(cap.limits).map(([name, usd]) => `${name} ${usd}${cap.tier === undefined ? ' of all tiers' : ''}`),
  );
  const cap = limits.length > 0 ? `cap ${limits.join(', ')}` : 'no cap';
  if (key?.overflow === false) return { takes: 'no', why: `tier ${tier}; key ${key.id} stays in base tiers` };
  if (caps.length > 0 && !prices) return { takes: 'no', why: `tier ${tier}, ${cap}: no turn goes there without a price` };
  return { takes: 'higher_tier', why: `tier ${tier}, asked where the lower tiers are ${pool.overflow.on.join(' or ')}; ${price}; ${cap}` };
}

const PLACES: Readonly<Record<Exclude<LiveSource['place'], 'higher'>, (source: LiveSource) => Candidacy>> = {
  cohort: (source) => ({ takes: 'first', why: `in the canonical cohort with ${windowOf(source)}` }),
  overflow: (source) => ({ takes: 'overflow', why: `outside the cohort with ${windowOf(source)}, no smaller` }),
  smaller: (source) => ({ takes: 'pinned', why: `${windowOf(source)} is smaller than the advertised window` }),
};

function loadOf({ inFlight, maxConcurrent, quotaLeft }: Standing): string {
  const quota = quotaLeft === undefined ? 'quota unknown' : `${Math.round(quotaLeft * 100)} % of its quota left`;
  return `${inFlight} of ${maxConcurrent} in flight, ${quota}`;
}

const UNAVAILABLE: Readonly<Record<Exclude<Standing['availability'], 'available'>, string>> = {
  reauth_required: 'it needs another credential',
  cooldown: 'it is in cooldown',
  probing: 'a probe is in progress',
  out_of_quota: 'its quota is exhausted',
  reserved: 'what is left of its quota is reserved for its owner',
  at_max_concurrent: 'it is at its max_concurrent',
};

function unavailable({ availability, until }: Standing, now: number): string {
  if (availability === 'available') return availability;
  const text = UNAVAILABLE[availability];
  return until === undefined || until <= now ? text : `${text}, for ${Math.ceil((until - now) / 1000)} s`;
}
