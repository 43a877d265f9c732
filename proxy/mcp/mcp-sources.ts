// The parts of the running gateway that the tools of /mcp read.
import type { Store } from '../../store/store.ts';
import type { CapacityStatus } from '../accounts/capacity.ts';
import type { AccountRates } from '../accounts/quota/account-rates.ts';
import type { QuotaStatus } from '../accounts/quota/quota-status.ts';
import type { Config } from '../config/config.ts';
import type { LiveModelsOptions } from '../explain/live-models.ts';
import type { Accounting } from '../keys/accounting.ts';
import type { AccountCatalogStatus } from '../models/catalog/account-catalog.ts';
import type { ProviderOf } from '../turn/provider/provider-api.ts';
import type { Rule } from '../turn/rules/rule.ts';
import type { KeyConfig } from '../turn/settings.ts';

export interface McpSources {
  readonly services: LiveModelsOptions & {
    readonly accounting: Pick<Accounting, 'limits'>;
    readonly capacity: {
      /** Health, load and admission, of all accounts and classes. */
      status(): CapacityStatus;
      /** The number of turns that run at an account for these Pools. */
      readonly selection: { readonly candidates: { inFlight(account: string, pools: readonly string[]): number } };
      /** The turns of these Pools by route class. */
      readonly admission: { status(pools: readonly string[]): CapacityStatus['admission'] };
    };
    readonly catalog: { readonly accounts: { status(): readonly AccountCatalogStatus[] } };
    readonly clock: { wallTime(): number };
    readonly continuity: { accountOf(key: KeyConfig, value: string): Promise<string | undefined> };
    readonly providerOf: ProviderOf;
    readonly loaded: () => { readonly config: Config };
    readonly store: Pick<Store, 'attempts' | 'audit' | 'flush' | 'inUse' | 'requests' | 'stats' | 'usage'>;
    readonly usage: {
      readonly quota: { status(): readonly QuotaStatus[]; rates(account: string): Pick<AccountRates, 'smallest'> | undefined };
    };
  };
  readonly process: ProcessState;
  readonly rules: readonly Rule[];
}

/** The state of the process that tools report. */
export interface ProcessState {
  /** Unix milliseconds. */
  readonly startedAt: number;
  /** Whether the gateway takes traffic. */
  readonly ready: boolean;
  readonly follower: { readonly lastReloadSucceeded: boolean };
}
