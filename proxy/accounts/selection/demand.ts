// What a turn demands of selection: the account that it must go to, the account that it should go to, how long it can wait (Q10, Q11), and
// what its API needs that some accounts lack (AA18, AA25).
import type { Slot } from '../../admission/admission.ts';
import type { Tenant } from '../../admission/waiting-room.ts';
import type { CiphertextOrigins } from '../../turn/ciphertext-origins.ts';
import type { Affinity, Continuation } from '../../turn/continuation.ts';
import { Refusal, restartRequired } from '../../turn/errors/refusal.ts';
import type { AccountModel } from '../../turn/provider/account-model.ts';
import { type AskedTurn, LACKS, type Lack } from '../../turn/provider/lack.ts';
import type { ProviderOf } from '../../turn/provider/provider-api.ts';
import type { AccountConfig, EffortPolicy, PoolConfig, WireWords } from '../../turn/settings.ts';
import type { Body, ModelView, Route } from '../../turn/turn.ts';
import { scopeOf } from '../scope.ts';
import type { TierDemand } from './tiers/tier-demand.ts';

/** The part of a turn that selection reads. */
export interface SelectedTurn {
  readonly id: string;
  readonly route: Pick<Route, 'kind' | 'class'>;
  readonly wire: Pick<WireWords, 'agent'>;
  readonly pool: PoolConfig;
  /** The Pool and key of the turn, for the order of waiting turns. */
  readonly key: Tenant;
  readonly model: Pick<ModelView, 'id'> | undefined;
  /** The account that has the files of the request. */
  readonly fileOwner?: string | undefined;
  readonly generation: {
    readonly accounts: ReadonlyMap<string, AccountConfig>;
    readonly loaded: { readonly bearers: ReadonlyMap<string, string> };
  };
}

/** What the accounts of a Pool lack for one turn. */
export interface Fit {
  /** The accounts that cannot take the turn, with the reason. */
  readonly lacking: ReadonlyMap<string, Lack>;
  /** The accounts that can take the turn only without a part of it. */
  readonly lossy: ReadonlySet<string>;
}

const FITS_ALL: Fit = { lacking: new Map(), lossy: new Set() };

/** The accounts that a turn was sent to. */
export type Tried = ReadonlySet<string>;

/** A turn that has its admission slot and needs an account. */
export interface SelectionRequest {
  readonly turn: SelectedTurn;
  /** The accounts that its anchors, its session and its conversation name (Q10, Q11). */
  readonly continuation: Pick<Continuation, 'hard' | 'soft' | 'affinity'>;
  /** What the accounts of its Pool lack for it. Absent if all of them take every turn. */
  readonly fit?: Fit | undefined;
  /** Absent in a Pool of one tier. */
  readonly tiers?: TierDemand | undefined;
  readonly slot: Pick<Slot, 'deadline'>;
  readonly onGone: Demand['onGone'];
}

/** One turn's demand, made before its first attempt and used for all of them. */
export interface Demand {
  readonly turn: SelectedTurn;
  /** A result of `scopeOf`. Health and selection keep capacity per scope. */
  readonly scope: string;
  /** The accounts whose API cannot take the turn; they count as tried from the beginning. */
  readonly lacking: ReadonlyMap<string, Lack>;
  /** The accounts that can take the turn only without a part of it; all others are preferred (AA19, AA21). */
  readonly lossy: ReadonlySet<string>;
  /** Undefined in a Pool of one tier. */
  readonly tiers?: TierDemand | undefined;
  /** The account of its hard pin. */
  readonly hard: string | undefined;
  /** The account of its soft pin. */
  readonly soft: string | undefined;
  /** Undefined if prompt-cache locality does not apply. */
  readonly affinity: Affinity | undefined;
  /** Registers a callback for the case that the client leaves while the turn waits; returns the undo. */
  readonly onGone: (aborted: () => void) => () => void;
  /** The end of the turn's wait, which begins with its admission slot; Unix milliseconds. */
  readonly deadline: number;
}

/** The demand of a turn, for all its attempts. A soft pin is ignored if there is a hard one. */
export function demandOf({ turn, continuation, fit = FITS_ALL, tiers, slot: { deadline }, onGone }: SelectionRequest): Demand {
  const { hard, soft, affinity } = continuation;
  const { lacking, lossy } = fit;
  const own = hard === undefined ? soft : undefined;
  return { turn, scope: scopeOf(turn), lacking, lossy, tiers, hard, soft: own, affinity, onGone, deadline };
}

/** What is known of the model at an account. */
export type ModelOf = (account: AccountConfig, model: string) => AccountModel | undefined;

const NO_KIND: Lack = { reason: 'kind' };

export class LackingAccounts {
  readonly #providerOf: ProviderOf;
  readonly #modelOf: ModelOf;
  /** The Pools with accounts whose API does not take every turn. Most Pools have none, and their turns are not examined. */
  readonly #selective = new WeakMap<PoolConfig, boolean>();

  constructor(providerOf: ProviderOf, modelOf: ModelOf = () => undefined) {
    this.#providerOf = providerOf;
    this.#modelOf = modelOf;
  }

  /** Undefined in a Pool whose accounts all take every turn. @param body the body after its rules; undefined if it passes unread */
  of(turn: FittedTurn, body: Body | undefined, origins?: CiphertextOrigins): Fit | undefined {
    const { kind } = turn.route;
    if (kind === undefined || !this.isSelective(turn)) return undefined;
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
