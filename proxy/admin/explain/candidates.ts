// Which accounts of a Pool could take a turn, and why not the others: the first reason that holds (UA1, Q12).
import type { AccountConfig, AssignmentConfig } from '../../turn/settings.ts';
import type { Facts } from './explanation.ts';
import type { LiveSource } from './live-facts.ts';

export interface ExplainedAccount {
  readonly account: string;
  /** `first` comes before `overflow`; `pinned` takes only turns that are bound to it; `unknown` without the running gateway. */
  readonly takes: 'first' | 'overflow' | 'pinned' | 'no' | 'unknown';
  readonly why: string;
}

export function explainAccounts(facts: Facts): readonly ExplainedAccount[] {
  const { pool, config } = facts;
  return pool.assignments.map((assignment) => {
    const account = config.accounts.find(({ id }) => id === assignment.account);
    const closed = closedBy(assignment, account);
    return { account: assignment.account, ...(closed === undefined ? standing(assignment.account, facts) : { takes: 'no', why: closed }) };
  });
}

/** The part of UA1 that the file settles. */
function closedBy({ active, eligible }: AssignmentConfig, account: AccountConfig | undefined): string | undefined {
  if (!active) return 'its assignment is not active';
  if (!eligible) return 'its assignment is not eligible';
  return account?.visible ? undefined : 'the account is not visible';
}

type Availability = Pick<ExplainedAccount, 'takes' | 'why'>;

function standing(id: string, { live, model, pool, now }: Facts): Availability {
  if (model === undefined) return { takes: 'first', why: `any turn of the Pool, by its strategy ${pool.strategy}` };
  if (!live) return { takes: 'unknown', why: 'its catalog and its health are known to the running gateway' };
  const source = live.sources.find(({ account }) => account === id);
  if (!source) return { takes: 'no', why: `it does not list ${model}` };
  if (live.presence === 'suppressed') return { takes: 'no', why: `${model} is suppressed in this Pool` };
  if (source.standing !== 'available') return { takes: 'no', why: closedNow(source, now) };
  return PLACES[source.place](source);
}

const busy = ({ inFlight }: LiveSource): string => `${inFlight} in flight`;
const windowOf = ({ window }: LiveSource): string => (window === undefined ? 'no stated window' : `a window of ${window}`);

const PLACES: Readonly<Record<LiveSource['place'], (source: LiveSource) => Availability>> = {
  cohort: (source) => ({ takes: 'first', why: `in the canonical cohort with ${windowOf(source)}; ${busy(source)}` }),
  overflow: (source) => ({ takes: 'overflow', why: `outside the cohort with ${windowOf(source)}, no smaller; ${busy(source)}` }),
  smaller: (source) => ({ takes: 'pinned', why: `${windowOf(source)} is smaller than what clients were told` }),
};

const WORDS: Readonly<Record<string, string>> = {
  reauth_required: 'it needs another credential',
  cooldown: 'it cools down',
  probing: 'one turn is finding out whether it is well again',
  quota: 'its quota is out',
};

function closedNow({ standing: word, until }: LiveSource, now: number): string {
  const text = WORDS[word] ?? word;
  return until === undefined || until <= now ? text : `${text}, for ${Math.ceil((until - now) / 1000)} s`;
}
