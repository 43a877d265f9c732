// What is to be placed at an account: a turn, as far as selection looks at it.
import type { Why } from '../../../store/rows.ts';
import type { AccountConfig, AdmissionClass, AdmissionConfig, KeyConfig, PoolConfig } from '../../config/config.ts';
import type { Body, ModelView, Route } from '../../turn.ts';

export interface SelectedTurn {
  readonly id: string;
  readonly route: Pick<Route, 'kind' | 'method' | 'class'>;
  readonly client: 'http' | 'websocket';
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly key: Pick<KeyConfig, 'id'>;
  readonly pool: PoolConfig;
  readonly model: Pick<ModelView, 'id'> | undefined;
  readonly generation: {
    readonly accounts: ReadonlyMap<string, AccountConfig>;
    readonly config: { readonly admission: Readonly<Record<AdmissionClass, AdmissionConfig>> };
    readonly loaded: { readonly bearers: ReadonlyMap<string, string> };
  };
  /** Set by selection: why this account, and how many of the others each reason ruled out (Q7). */
  why: Why | undefined;
}

export interface Demand {
  readonly turn: SelectedTurn;
  /** The request body after its rules; undefined on routes without a JSON body. */
  readonly body: Body | undefined;
  /** An account that the caller is bound to by itself: the live upstream socket of an anchored turn. */
  readonly bound?: string;
  /** Calls back when the client leaves while the turn waits; returns the undo. */
  readonly onGone: (aborted: () => void) => () => void;
  /** When the turn's patience ends, Unix milliseconds; as its admission slot says. */
  readonly deadline: number;
}

/** The exposed model id by which health and selection tell a turn's capacity apart; routes without a model have their own word. */
export const scopeOf = ({ model, route }: SelectedTurn): string => model?.id ?? `(${route.kind ?? 'route'})`;

export const isModelless = (scope: string): boolean => scope.startsWith('(');
