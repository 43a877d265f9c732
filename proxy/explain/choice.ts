// Explains which account the next turn would go to: by its session, otherwise by the Pool's strategy (Q7, Q10).
import { lackRefusal } from '../accounts/selection/lacking-accounts.ts';
import type { OverflowReason } from '../turn/tiers.ts';
import type { Facts, LiveSource } from './facts.ts';

export interface ExplainedChoice {
  /** Null if no account can take the turn now. */
  readonly account: string | null;
  /** Accounts that the strategy scores equally. The id of each turn decides between them and `account`. */
  readonly tied: readonly string[];
  /** `hard_pin`, `soft_pin` or the Pool's strategy, as in the rows of the request log. Null without an account. */
  readonly reason: string | null;
  readonly why: string;
  /** Set if the turn waits for an account that has no free slot. */
  readonly waits?: boolean;
}

const NO_ACCOUNT = { account: null, tied: [], reason: null } as const satisfies Partial<ExplainedChoice>;

/** Undefined if the choice is unknown: without the running gateway, without a model, or for a model that is not in the Pool. */
export function explainChoice(facts: Facts): ExplainedChoice | undefined {
  const { live, pool, session, lacking, preview } = facts;
  if (!live || live.presence === 'suppressed' || live.sources.length === 0) return undefined;
  const sources = live.sources.filter(({ account }) => !lacking.has(account));
  const bound = sources.find(({ account }) => account === preview?.hard);
  if (preview?.hard !== undefined && bound?.standing?.availability !== 'available') {
    const why = `it must go to ${preview.hard}, whose response it continues or that has its files: ${bound?.standing?.availability ?? 'it cannot take it'}`;
    return { ...NO_ACCOUNT, why };
  }
  if (bound) return { account: bound.account, tied: [], reason: 'hard_pin', why: 'it continues a response of it, or has files there' };
  const pinned = sources.find(({ account }) => account === session?.account);
  if (pinned && isAvailable(pinned)) {
    return { account: pinned.account, tied: [], reason: 'soft_pin', why: 'its session went there last' };
  }
  const left = leftText(facts, pinned);
  const [first, ...tied] = best(sources, 'cohort') ?? best(sources, 'overflow') ?? bestHigher(facts, sources) ?? [];
  if (!first) {
    const busy = sources.some(({ standing }) => standing?.availability === 'at_max_concurrent');
    const why = busy
      ? 'every account that could take it is at its max_concurrent: the turn waits for one'
      : `no account can take it: ${refusalText(facts, sources)}`;
    return { ...NO_ACCOUNT, ...(busy && { waits: true }), why: `${left}${why}` };
  }
  const among = tied.length > 0 ? `${pool.strategy} scores ${tied.length + 1} accounts the same` : `${pool.strategy} scores it highest`;
  // Only the body of a turn shows which conversation it continues.
  const locality = pool.prompt_cache_locality ? '; a turn that continues a conversation goes where its prompt is cached' : '';
  return { account: first.account, tied: tied.map(({ account }) => account), reason: pool.strategy, why: `${left}${among}${locality}` };
}

function leftText({ session }: Facts, pinned: LiveSource | undefined): string {
  if (!session) return '';
  if (session.account === undefined) return 'its session is not known; ';
  return `its session's account ${session.account} cannot take it (${pinned?.standing?.availability ?? 'not_a_source'}); `;
}

/** The refusal of the turn. It depends on the accounts that do not serve it now, otherwise on what they lack (AA25). */
function refusalText({ live, lacking, pool }: Facts, admitted: readonly LiveSource[]): string {
  if (live?.refusal !== undefined && admitted.some(({ standing }) => standing)) return live.refusal;
  const lacks = (live?.sources ?? []).flatMap(({ account, routable }) => (routable ? (lacking.get(account) ?? []) : []));
  if (lacks.length === 0) return live?.refusal ?? `503 no_eligible_account: a higher tier of Pool ${pool.id} is not asked now`;
  const { status, code, error } = lackRefusal(lacks, '');
  return `${status} ${code}${error.param === null ? '' : ` at ${error.param}`}`;
}

/**
 * The best accounts of the lowest tier that the turn may overflow to now (AA66). A key that must stay in base tiers has a lack at these
 * accounts.
 */
function bestHigher({ pool }: Facts, sources: readonly LiveSource[]): readonly LiveSource[] | undefined {
  const tiers = [...new Set(sources.flatMap(({ place, tier }) => (place === 'higher' ? tier : [])))].sort((a, b) => a - b);
  for (const tier of tiers) {
    const lower = sources.filter((one) => one.tier < tier);
    if (!lower.every(({ standing }) => standing && REASONS[standing.availability].some((reason) => pool.overflow.on.includes(reason))))
      return undefined;
    const found = best(
      sources.filter((one) => one.tier === tier),
      'higher',
    );
    if (found) return found;
  }
  return undefined;
}

const REASONS: Readonly<Record<NonNullable<LiveSource['standing']>['availability'], readonly OverflowReason[]>> = {
  available: [],
  out_of_quota: ['quota'],
  reserved: ['quota'],
  cooldown: ['failing'],
  probing: ['failing'],
  reauth_required: ['failing'],
  at_max_concurrent: ['full'],
};

const isAvailable = ({ standing }: LiveSource): boolean => standing?.availability === 'available';

/** The available sources at a place with the highest score, in the order of the configuration. Undefined if there are none. */
function best(sources: readonly LiveSource[], place: LiveSource['place']): readonly LiveSource[] | undefined {
  const available = sources.filter((source) => source.place === place && isAvailable(source));
  const top = Math.max(...available.map(scoreOf));
  const found = available.filter((source) => scoreOf(source) === top);
  return found.length > 0 ? found : undefined;
}

const scoreOf = ({ standing }: LiveSource): number => standing?.score ?? Number.NEGATIVE_INFINITY;
