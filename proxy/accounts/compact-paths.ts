// How an account compacts: on its compact path, or with a turn that ends in a trigger where it has dropped that path (RB33, Q27).
import { hash } from 'node:crypto';
import type { AccountConfig } from '../turn/settings.ts';
import { isAgentBackend } from '../turn/wire/known-hosts.ts';
import type { AccountStates } from './health/account-states.ts';

export interface CompactPathsOptions {
  /** The store's copy: it outlives a restart, and other nodes read it. */
  readonly states: Pick<AccountStates, 'rows' | 'putMissingCompactPath'>;
  readonly log: { info(event: string, fields: Readonly<Record<string, string>>): void };
}

export class CompactPaths {
  readonly #options: CompactPathsOptions;

  constructor(options: CompactPathsOptions) {
    this.#options = options;
  }

  of({ id, base_url, compact }: AccountConfig): 'route' | 'trigger' {
    if (compact !== 'auto') return compact;
    if (isAgentBackend(base_url)) return 'trigger';
    const stored = this.#options.states.rows(id).find(({ model }) => model === '');
    return stored?.missing_compact_path === addressOf(base_url) ? 'trigger' : 'route';
  }

  /** The account answered that it has no compact path. */
  missing({ id, base_url }: AccountConfig): void {
    this.#options.log.info('compact_path_missing', { account: id });
    this.#options.states.putMissingCompactPath(id, addressOf(base_url));
  }
}

/** An account that moves to another address is asked again. */
const addressOf = (baseUrl: string): string => hash('sha256', baseUrl, 'hex').slice(0, 32);
