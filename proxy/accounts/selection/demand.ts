// What a turn demands of selection: the account it must go to, the one it should go to, and how long it can wait (Q10, Q11).
import type { Why } from '../../../store/rows.ts';
import type { Affinity, Continuation } from '../../turn/continuation.ts';
import type { AccountConfig, KeyConfig, PoolConfig, WireWords } from '../../turn/settings.ts';
import type { Body, ModelView, Route } from '../../turn/turn.ts';

/** The part of a turn that selection reads. */
export interface SelectedTurn {
  readonly id: string;
  readonly route: Pick<Route, 'kind' | 'method' | 'class'>;
  readonly client: 'http' | 'websocket';
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly wire: Pick<WireWords, 'agent'>;
  readonly key: Pick<KeyConfig, 'id'>;
  readonly pool: PoolConfig;
  readonly model: Pick<ModelView, 'id'> | undefined;
  /** The accounts that its anchors and its session name (Q10). */
  readonly continuation?: Pick<Continuation, 'hard' | 'soft' | 'affinity'> | undefined;
  readonly generation: {
    readonly accounts: ReadonlyMap<string, AccountConfig>;
    readonly loaded: { readonly bearers: ReadonlyMap<string, string> };
  };
  /** Set by selection: the reason for the account, and a count per reason for the others (Q7). */
  why: Why | undefined;
}

/** One turn's demand, made before its first attempt and used for all of them. */
export interface Demand {
  readonly turn: SelectedTurn;
  /** The exposed model id, or a word in parentheses on routes without a model. Health and selection keep capacity per scope. */
  readonly scope: string;
  /** The account of its hard pin. */
  readonly hard: string | undefined;
  /** The account of its soft pin. */
  readonly soft: string | undefined;
  /** Undefined where prompt-cache locality does not apply. */
  readonly affinity: Affinity | undefined;
  /** Calls back when the client leaves while the turn waits; returns the undo. */
  readonly onGone: (aborted: () => void) => () => void;
  /** The end of the turn's wait, from its admission slot; Unix milliseconds. */
  readonly deadline: number;
}

/** Where continuity sends a turn (Q10, Q11). */
export interface Pins {
  /**
   * The account of the turn's response id or files. The turn goes to no other account; undefined where it may go to any.
   * @param body undefined on routes without a JSON body
   * @throws Refusal where that account is known to be unusable
   */
  hard(turn: SelectedTurn, body: Body | undefined): string | undefined;
  /** The account of the turn's session. Yields to health and quota. */
  soft(turn: SelectedTurn, body: Body | undefined): string | undefined;
  affinity(turn: SelectedTurn, body: Body | undefined): Affinity | undefined;
}

export const NO_PINS: Pins = { hard: () => undefined, soft: () => undefined, affinity: () => undefined };

export const scopeOf = ({ model, route }: SelectedTurn): string => model?.id ?? `(${route.kind ?? 'route'})`;

export const isModelless = (scope: string): boolean => scope.startsWith('(');
