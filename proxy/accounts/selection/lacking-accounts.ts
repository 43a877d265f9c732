// What the accounts of a Pool lack for a turn that their API cannot take, and the refusal if all of them lack something (AA18, AA25).
import type { CiphertextOrigins } from '../../turn/ciphertext-origins.ts';
import { Refusal, restartRequired } from '../../turn/errors/refusal.ts';
import type { AccountModel } from '../../turn/provider/account-model.ts';
import { type AskedTurn, LACKS, type Lack } from '../../turn/provider/lack.ts';
import type { ProviderOf } from '../../turn/provider/provider-api.ts';
import type { AccountConfig, EffortPolicy, PoolConfig } from '../../turn/settings.ts';
import type { Body } from '../../turn/turn.ts';
import type { Fit, SelectedTurn } from './demand.ts';

/** What is known of the model at an account. */
export type ModelOf = (account: AccountConfig, model: string) => AccountModel | undefined;

/** The fit of a Pool whose accounts all take every turn. */
const FITS_ALL: Fit = { lacking: new Map(), lossy: new Set() };

const NO_KIND: Lack = { reason: 'kind' };

export class LackingAccounts {
  readonly #providerOf: ProviderOf;
  readonly #modelOf: ModelOf;
  /** The Pools with accounts whose API does not take every turn. Most Pools have none, and their turns are not examined. */
  readonly #selective = new WeakMap<PoolConfig, boolean>();

  constructor(providerOf: ProviderOf, modelOf: ModelOf) {
    this.#providerOf = providerOf;
    this.#modelOf = modelOf;
  }

  /** @param body the body after its rules; undefined if it passes unread */
  of(turn: FittedTurn, body: Body | undefined, origins?: CiphertextOrigins): Fit {
    const { kind } = turn.route;
    if (kind === undefined || !this.isSelective(turn)) return FITS_ALL;
    const lacking = new Map<string, Lack>();
    const lossy = new Set<string>();
    const { reasoning_effort } = turn.key;
    const effortIsFixed = reasoning_effort !== undefined && 'always' in reasoning_effort;
    const asked: AskedTurn = { kind, body, effortIsFixed, hasHints: turn.hints.length > 0 };
    for (const account of accountsOf(turn)) {
      const { lacks, loses } = this.#providerOf(account);
      const model = turn.model && this.#modelOf(account, turn.model.id);
      const foreign = origins?.foreignTo(account);
      // Agent backends make no embeddings, although their provider states no lack.
      const own = lacks ? lacks(asked, account, model) : kind === 'embeddings' ? NO_KIND : undefined;
      const lack = foreign?.lack(turn.pool.overflow.reasoning) ?? own;
      if (lack) lacking.set(account.id, written(lack, turn));
      else if (foreign || loses?.(asked, account)) lossy.add(account.id);
    }
    return { lacking, lossy };
  }

  isSelective(turn: SelectedTurn): boolean {
    const known = this.#selective.get(turn.pool);
    if (known !== undefined) return known;
    const selective = accountsOf(turn).some((account) => this.#providerOf(account).lacks);
    this.#selective.set(turn.pool, selective);
    return selective;
  }
}

/** The part of a turn from which its needs are read. */
export interface FittedTurn extends SelectedTurn {
  readonly key: SelectedTurn['key'] & { readonly reasoning_effort?: EffortPolicy };
  readonly hints: readonly unknown[];
  /** The place of a member before the rules moved items; the same place if none was moved. */
  placeBefore(param: string): string;
}

const accountsOf = ({ pool, generation }: SelectedTurn): readonly AccountConfig[] =>
  pool.assignments.flatMap(({ account }) => generation.accounts.get(account) ?? []);

const written = ({ reason, param }: Lack, turn: FittedTurn): Lack =>
  param === undefined ? { reason } : { reason, param: turn.placeBefore(param) };

/**
 * The refusal for the lack that comes last in the list, because that account came nearest to being a candidate.
 * @param lacks at least one
 */
export function lackRefusal(lacks: readonly Lack[], agent: string): Refusal {
  const place = ({ reason }: Lack): number => LACKS.indexOf(reason);
  const { reason, param } = lacks.reduce((a, b) => (place(b) > place(a) ? b : a));
  switch (reason) {
    case 'kind':
      return new Refusal('unsupported_endpoint');
    case 'anchor':
      return new Refusal('previous_response_not_found', { param: 'previous_response_id' });
    case 'compaction_item':
      return restartRequired(agent);
    case 'files':
    case 'ciphertext':
    case 'effort':
    case 'window':
    case 'no_price':
    case 'overflow_spent':
    case 'no_overflow':
      return new Refusal('no_eligible_account');
    default:
      return new Refusal('unsupported_parameter', param === undefined ? {} : { param });
  }
}
