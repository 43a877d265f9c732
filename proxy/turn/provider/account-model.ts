// One model of an API account: what its operator declares of it, otherwise what the account's list states (AA7, AA9).
import type { Prices } from '../settings.ts';
import type { Modality } from './served.ts';

export interface AccountModel {
  /** The account's own id of the model. */
  readonly id: string;
  /** Tokens; undefined if neither the operator nor the account states it. */
  readonly contextWindow: number | undefined;
  readonly maxOutput: number | undefined;
  /** An empty list: the model does not reason. Undefined: unknown. */
  readonly reasoningLevels: readonly string[] | undefined;
  readonly defaultLevel: string | undefined;
  readonly modalities: readonly Modality[];
  /** Whether the model takes function tools. */
  readonly tools: boolean;
  readonly kind: 'turns' | 'embedding';
  readonly prices: Prices | undefined;
}
