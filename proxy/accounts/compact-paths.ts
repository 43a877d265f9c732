// How an account compacts: on its compact path, or, if the account no longer has that path, with a turn that ends in a trigger (RB33, Q27).
import { hash } from 'node:crypto';
import type { AccountStateRow } from '../../store/store.ts';
import type { ProviderOf } from '../turn/provider/provider-api.ts';
import type { AccountConfig } from '../turn/settings.ts';
import type { AccountStates } from './health/account-states.ts';

export interface CompactPathsOptions {
  /** The copy in the store, which outlives a restart and which other nodes read. */
  readonly states: Pick<AccountStates, 'rows' | 'putMissingCompactPath'>;
  readonly providerOf: ProviderOf;
  readonly log: { info(event: string, fields: Readonly<Record<string, string>>): void };
}

/**
 * `route`: on the account's compact path. `trigger`: as a turn whose last input item is a trigger. `summary`: as a turn that asks for a
 * summary (AA48). `none`: the account cannot compact.
 */
export type CompactWay = Exclude<AccountConfig['compact'], 'auto'>;

export interface CompactStatus {
  readonly way: CompactWay;
  /** The time at which the account answered that it has no compact path, in Unix milliseconds; absent if it did not answer so. */
  readonly missingSince?: number;
}

export class CompactPaths {
  readonly #options: CompactPathsOptions;

  constructor(options: CompactPathsOptions) {
    this.#options = options;
  }

  of(account: AccountConfig): CompactWay {
    const { compact } = account;
    if (compact !== 'auto') return compact;
    return this.#options.providerOf(account).compaction.knownWay(account) ?? (this.#missing(account) ? 'trigger' : 'route');
  }

  status(account: AccountConfig): CompactStatus {
    const way = this.of(account);
    const found = account.compact === 'auto' ? this.#missing(account)?.compact_path_missing_at : undefined;
    return { way, ...(typeof found === 'number' && { missingSince: found }) };
  }

  /** Records that the account has no compact path. */
  missing({ id, base_url }: AccountConfig): void {
    this.#options.log.info('compact_path_missing', { account: id });
    this.#options.states.putMissingCompactPath(id, addressOf(base_url));
  }

  /** The row of an account that has no compact path at its current address. */
  #missing({ id, base_url }: AccountConfig): AccountStateRow | undefined {
    const row = this.#options.states.rows(id).find(({ model }) => model === '');
    return row?.missing_compact_path === addressOf(base_url) ? row : undefined;
  }
}

/** A digest of the address: if an account moves to another address, its compact path is tried again. */
const addressOf = (baseUrl: string): string => hash('sha256', baseUrl, 'hex').slice(0, 32);
