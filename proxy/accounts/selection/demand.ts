// What a turn demands of selection: the account that it must go to, the account that it should go to, and how long it can wait (Q10, Q11).
import type { Slot } from '../../admission/admission.ts';
import type { Tenant } from '../../admission/waiting-room.ts';
import type { Affinity, Continuation } from '../../turn/continuation.ts';
import type { Lack } from '../../turn/provider/lack.ts';
import type { AccountConfig, PoolConfig, WireWords } from '../../turn/settings.ts';
import type { ModelView, Route } from '../../turn/turn.ts';
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
