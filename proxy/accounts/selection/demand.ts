// What a turn demands of selection: the account that it must go to, the account that it should go to, how long it can wait (Q10, Q11).
import type { Tenant } from '../../admission/waiting-room.ts';
import type { Affinity } from '../../turn/continuation.ts';
import type { Lack } from '../../turn/provider/lack.ts';
import type { AccountConfig, PoolConfig, WireWords } from '../../turn/settings.ts';
import type { ModelView, Route } from '../../turn/turn.ts';
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

/** The accounts that a turn was sent to. */
export type Tried = ReadonlySet<string>;

/** What the accounts of a Pool lack for one turn. */
export interface Fit {
  /** The accounts whose API cannot take the turn, with the reason. They count as tried from the beginning. */
  readonly lacking: ReadonlyMap<string, Lack>;
  /** The accounts that can take the turn only without a part of it. All others are preferred (AA19, AA21). */
  readonly lossy: ReadonlySet<string>;
}

/** One turn's demand, made before its first attempt and used for all of them. */
export interface Demand extends Fit {
  readonly turn: SelectedTurn;
  /** A result of `scopeOf`. Health and selection keep capacity per scope. */
  readonly scope: string;
  /** Undefined in a Pool of one tier. */
  readonly tiers?: TierDemand | undefined;
  /** The account of its hard pin. */
  readonly hard: string | undefined;
  /** The account of its soft pin. Undefined if it has a hard one. */
  readonly soft: string | undefined;
  /** Undefined if prompt-cache locality does not apply. */
  readonly affinity: Affinity | undefined;
  /** Registers a callback for the case that the client leaves while the turn waits; returns the undo. */
  readonly onGone: (aborted: () => void) => () => void;
  /** The end of the turn's wait, which begins with its admission slot; Unix milliseconds. */
  readonly deadline: number;
}
