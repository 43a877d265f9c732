// What is to be placed at an account: a turn, as far as selection looks at it.
import type { Why } from '../../../store/rows.ts';
import type { AccountConfig, KeyConfig, PoolConfig, WireWords } from '../../turn/settings.ts';
import type { ModelView, Route } from '../../turn/turn.ts';

export interface SelectedTurn {
  readonly id: string;
  readonly route: Pick<Route, 'kind' | 'method' | 'class'>;
  readonly client: 'http' | 'websocket';
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly wire: Pick<WireWords, 'agent'>;
  readonly key: Pick<KeyConfig, 'id'>;
  readonly pool: PoolConfig;
  readonly model: Pick<ModelView, 'id'> | undefined;
  /** Where it must and where it should go, as its anchors and its session say (Q10). */
  readonly continuation?: { readonly hard: string | undefined; readonly soft: string | undefined } | undefined;
  readonly generation: {
    readonly accounts: ReadonlyMap<string, AccountConfig>;
    readonly loaded: { readonly bearers: ReadonlyMap<string, string> };
  };
  /** Set by selection: why this account, and how many of the others each reason ruled out (Q7). */
  why: Why | undefined;
}

/** One turn's demand for an account: what is settled about it before the first attempt, and holds for all. */
export interface Demand {
  readonly turn: SelectedTurn;
  /** By what health and selection tell its capacity apart: the exposed model id, or a word for routes without a model. */
  readonly scope: string;
  /** The account that it may not leave. */
  readonly hard: string | undefined;
  /** The account that its session was at. */
  readonly soft: string | undefined;
  /** Of its prompt-cache key, where locality has a say. */
  readonly locality: number | undefined;
  /** Calls back when the client leaves while the turn waits; returns the undo. */
  readonly onGone: (aborted: () => void) => () => void;
  /** When the turn's patience ends, as its admission slot says; Unix milliseconds. */
  readonly deadline: number;
}

export const scopeOf = ({ model, route }: SelectedTurn): string => model?.id ?? `(${route.kind ?? 'route'})`;

export const isModelless = (scope: string): boolean => scope.startsWith('(');
