// The parts of the running gateway that the tools of /mcp read.
import type { Store } from '../../store/store.ts';
import type { CapacityStatus } from '../accounts/capacity.ts';
import type { QuotaStatus } from '../accounts/quota/quota-status.ts';
import type { Config } from '../config/config.ts';
import type { LiveModels } from '../explain/facts.ts';
import type { LimitState } from '../keys/limits/key-limits.ts';
import type { AccountCatalogStatus } from '../models/catalog/account-catalog.ts';
import type { ModelDirectory } from '../models/model-directory.ts';
import type { ProviderOf } from '../turn/provider/provider-api.ts';
import type { Rule } from '../turn/rules/rule.ts';
import type { KeyConfig } from '../turn/settings.ts';

export interface McpSources {
  readonly config: () => Config;
  /** Turns that run at an account, of these Pools. */
  readonly inFlight: (account: string, pools: readonly string[]) => number;
  /** Turns by route class, of these Pools. */
  readonly admission: (pools: readonly string[]) => CapacityStatus['admission'];
  /** Unix milliseconds of the machine's wall clock. */
  readonly now: () => number;
  /** Unix milliseconds. */
  readonly startedAt: number;
  /** Whether the gateway takes traffic. */
  readonly ready: () => boolean;
  readonly store: Pick<Store, 'attempts' | 'audit' | 'flush' | 'requests' | 'usage'>;
  /** Health, load and admission, of all accounts and classes. */
  readonly capacity: () => CapacityStatus;
  readonly quota: () => readonly QuotaStatus[];
  readonly catalogs: () => readonly AccountCatalogStatus[];
  readonly models: Pick<ModelDirectory, 'models'>;
  readonly limits: (key: KeyConfig) => readonly LimitState[] | Promise<readonly LimitState[]>;
  readonly rules: readonly Rule[];
  readonly providerOf: ProviderOf;
  readonly live: LiveModels;
  /** The account that a session of this key went to last. @param value of a continuity header */
  readonly sessionAccount: (key: KeyConfig, value: string) => Promise<string | undefined>;
}
