// Explains which accounts of a Pool are candidates for a turn; for each account the first reason that applies (UA1, Q12).
import type { AccountConfig, AssignmentConfig } from '../../turn/settings.ts';
import type { Facts, LiveSource } from './facts.ts';

export interface ExplainedAccount {
  readonly account: string;
  /** `first` is preferred to `overflow`; `pinned` takes only turns that are pinned to it; `unknown` without the running gateway. */
  readonly takes: 'first' | 'overflow' | 'pinned' | 'no' | 'unknown';
  readonly why: string;
}

export function explainAccounts(facts: Facts): readonly ExplainedAccount[] {
  const { pool, config } = facts;
  return pool.assignments.map((assignment) => {
    const account = config.accounts.find(({ id }) => id === assignment.account);
    const excluded = excludedBy(assignment, account);
    const result: Candidacy = excluded === undefined ? candidacy(assignment.account, facts) : { takes: 'no', why: excluded };
    return { account: assignment.account, ...result };
  });
}

/** Why the configuration alone excludes the account (UA1). */
function excludedBy({ active, eligible }: AssignmentConfig, account: AccountConfig | undefined): string | undefined {
  if (account?.paused) return 'the account is paused';
  if (!active) return 'its assignment is not active';
  if (!eligible) return 'its assignment is not eligible';
  return account?.visible ? undefined : 'the account is not visible';
}

type Candidacy = Pick<ExplainedAccount, 'takes' | 'why'>;

function candidacy(id: string, { live, model, pool, now }: Facts): Candidacy {
  if (model === undefined) return { takes: 'first', why: `every turn of the Pool, by its strategy ${pool.strategy}` };
  if (!live) return { takes: 'unknown', why: 'its catalog and its health are known to the running gateway' };
  const source = live.sources.find(({ account }) => account === id);
  if (!source) return { takes: 'no', why: `it does not list ${model}` };
  if (live.presence === 'suppressed') return { takes: 'no', why: `${model} is suppressed in this Pool` };
  if (source.health !== 'available') return { takes: 'no', why: unhealthy(source, now) };
  return PLACES[source.place](source);
}

const busy = ({ inFlight }: LiveSource): string => `${inFlight} in flight`;
const windowOf = ({ window }: LiveSource): string => (window === undefined ? 'no stated window' : `a window of ${window}`);

const PLACES: Readonly<Record<LiveSource['place'], (source: LiveSource) => Candidacy>> = {
  cohort: (source) => ({ takes: 'first', why: `in the canonical cohort with ${windowOf(source)}; ${busy(source)}` }),
  overflow: (source) => ({ takes: 'overflow', why: `outside the cohort with ${windowOf(source)}, no smaller; ${busy(source)}` }),
  smaller: (source) => ({ takes: 'pinned', why: `${windowOf(source)} is smaller than the advertised window` }),
};

const WORDS: Readonly<Record<string, string>> = {
  reauth_required: 'it needs another credential',
  cooldown: 'it is in cooldown',
  probing: 'a probe is in progress',
  quota: 'its quota is exhausted',
};

function unhealthy({ health, until }: LiveSource, now: number): string {
  const text = WORDS[health] ?? health;
  return until === undefined || until <= now ? text : `${text}, for ${Math.ceil((until - now) / 1000)} s`;
}
