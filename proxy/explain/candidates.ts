// Explains which accounts of a Pool are candidates for a turn. Each account has the first reason that applies (UA1, Q12).
import type { Standing } from '../accounts/selection/candidate-accounts.ts';
import { priceAt } from '../turn/costs/prices.ts';
import { presetName } from '../turn/provider/api-account.ts';
import type { Lack, LackReason } from '../turn/provider/lack.ts';
import type { AccountConfig, AssignmentConfig, KeyConfig, Prices } from '../turn/settings.ts';
import { EFFORT_ALIASES, EFFORTS } from '../turn/wire/efforts.ts';
import type { ExplainedCap, Facts, LiveSource } from './facts.ts';
import { capsAt } from './lacking.ts';

export interface ExplainedAccount {
  readonly account: string;
  readonly api: string;
  readonly preset: string | null;
  readonly tier: number;
  /**
   * `first`: preferred to `overflow`. `pinned`: takes only turns that are pinned to it. `higher_tier`: takes turns that lower tiers cannot
   * take. `unknown`: without the running gateway.
   */
  readonly takes: 'first' | 'overflow' | 'pinned' | 'higher_tier' | 'no' | 'unknown';
  /** What the account lacks for the turn (AA18). */
  readonly lack: LackReason | null;
  /** The price of the model at this account, in USD for a million tokens. Null without a model, or if it has no price (AA70). */
  readonly prices: Prices | null;
  /** The caps that apply in its tier. */
  readonly caps: readonly ExplainedCap[];
  /**
   * The account's word for each effort, null if no effort is sent (AA45). With a body these are its efforts, otherwise all that turns of
   * the key may ask for. Empty for agent accounts without a body, which get each effort unchanged.
   */
  readonly efforts: Readonly<Record<string, string | null>>;
  /** What the encoding would change or remove in the body (AA16). Null without a body, or if the account cannot take the turn. */
  readonly adapted: readonly string[] | null;
  readonly why: string;
}

export function explainAccounts(facts: Facts): readonly ExplainedAccount[] {
  const { pool, config, model, preview, caps } = facts;
  return pool.assignments.flatMap((assignment) => {
    const account = config.accounts.find(({ id }) => id === assignment.account);
    if (!account) return [];
    const lack = facts.lacking.get(account.id);
    const excluded = excludedBy(assignment, account) ?? (lack && lackText(lack, facts.providerOf(account).name));
    const { takes, why }: Candidacy = excluded === undefined ? candidacy(account.id, facts) : { takes: 'no', why: excluded };
    return {
      account: account.id,
      api: facts.providerOf(account).name,
      preset: presetName(account) ?? null,
      tier: assignment.tier,
      takes,
      lack: lack?.reason ?? null,
      prices: (model === undefined ? undefined : priceAt(account, model, pool)) ?? null,
      caps: capsAt(assignment.tier, caps),
      efforts: effortsAt(account, facts),
      adapted: excluded === undefined ? (preview?.accounts.get(account.id)?.adapted ?? null) : null,
      why,
    };
  });
}

const MEANING: Readonly<Record<Exclude<LackReason, 'kind'>, string>> = {
  anchor: 'continues no response',
  files: 'keeps no files',
  compaction_item: 'cannot read the compaction of another account',
  ciphertext: 'cannot read the reasoning of another account',
  item: 'does not know an item of the input',
  tools: 'has this model without tools',
  hosted_tool: 'does not run a tool that the turn requires',
  tool_type: 'does not know a type of tool',
  tool_choice: 'takes no turn that must call a tool',
  schema: 'takes no schema of the answer',
  modality: 'does not take a kind of input',
  effort: "does not have the effort that the key's turns must have",
  window: 'has a window that the turn does not fit',
  no_price: 'has no price, and its tier has a cap',
  overflow_spent: 'is in a tier whose cap has no room',
  no_overflow: 'is above the base tier, where turns of the key stay',
};

function lackText({ reason, param }: Lack, api: string): string {
  if (reason === 'kind') return `accounts of the API ${api} take no such turn (kind)`;
  return `it ${MEANING[reason]}${param === undefined ? '' : `: ${param}`} (${reason})`;
}

/** The efforts that turns of the key may ask for, after policies were applied. */
function efforts(key: KeyConfig | undefined): readonly string[] {
  const policy = key?.reasoning_effort;
  if (policy && 'always' in policy) return [EFFORT_ALIASES.get(policy.always) ?? policy.always];
  const most = policy ? EFFORTS.indexOf(policy.allow_up_to) + 1 : EFFORTS.length;
  return EFFORTS.slice(0, most).filter((effort) => !EFFORT_ALIASES.has(effort));
}

function effortsAt(account: AccountConfig, { key, live, model, preview, providerOf }: Facts): ExplainedAccount['efforts'] {
  const { effort } = providerOf(account);
  const source = live?.sources.find((one) => one.account === account.id);
  const sent = (asked: string): string | null => (effort ? (effort(asked, account, source?.own) ?? null) : asked);
  if (preview) {
    const asked = preview.accounts.get(account.id)?.effort;
    return asked === undefined ? {} : { [asked]: sent(asked) };
  }
  // Only the running gateway knows the model's levels.
  if (!effort || model === undefined || !source) return {};
  return Object.fromEntries(efforts(key).map((asked) => [asked, sent(asked)]));
}

/** The reason why the configuration alone excludes the account (UA1). */
function excludedBy({ active, eligible }: AssignmentConfig, account: AccountConfig | undefined): string | undefined {
  if (account?.paused) return 'the account is paused';
  if (!active) return 'its assignment is not active';
  if (!eligible) return 'its assignment is not eligible';
  return account?.visible ? undefined : 'the account is not visible';
}

type Candidacy = Pick<ExplainedAccount, 'takes' | 'why'>;

function candidacy(id: string, facts: Facts): Candidacy {
  const { live, model, pool, preview, now } = facts;
  if (model === undefined) return { takes: 'first', why: `every turn of the Pool, by its strategy ${pool.strategy}` };
  if (!live) return { takes: 'unknown', why: 'its catalog and its health are known to the running gateway' };
  const source = live.sources.find(({ account }) => account === id);
  if (!source) return { takes: 'no', why: `it does not list ${model}` };
  if (live.presence === 'suppressed') return { takes: 'no', why: `${model} is suppressed in this Pool` };
  const { standing } = source;
  if (!standing) return { takes: 'no', why: 'a change of the configuration excludes it' };
  if (preview?.hard !== undefined && preview.hard !== id) return { takes: 'no', why: `the turn must go to ${preview.hard}` };
  if (standing.availability !== 'available') return { takes: 'no', why: unavailable(standing, now) };
  const place = source.place === 'higher' ? higherTier(source, facts) : PLACES[source.place](source);
  return { ...place, why: `${place.why}; ${loadOf(standing)}` };
}

const windowOf = ({ window }: LiveSource): string => (window === undefined ? 'no stated window' : `a window of ${window}`);

/** The text about an account of a higher tier, with its price and its caps (AA72). */
function higherTier({ account: id, tier }: LiveSource, { config, pool, model, caps }: Facts): Candidacy {
  const account = config.accounts.find((one) => one.id === id);
  const prices = account && priceAt(account, model, pool);
  const price = prices ? `${prices.input} USD for a million tokens of input and ${prices.output} of output` : 'no price';
  const limits = capsAt(tier, caps).map(({ window, max, tier: of }) => `usd_per_${window} ${max}${of === null ? ' of all tiers' : ''}`);
  const cap = limits.length > 0 ? `cap ${limits.join(', ')}` : 'no cap';
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
