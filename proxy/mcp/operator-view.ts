// What one operator may see: the Pools that it owns or is assigned, their keys, and the accounts that are assigned to them (G3). On the
// admin listener it may also be everything.
import type { Config } from '../config/config.ts';
import { versionOf } from '../config/config-diff.ts';
import type { AccountConfig, AssignmentConfig, KeyConfig, OperatorConfig, PoolConfig } from '../turn/settings.ts';
import type { McpSources, ProcessState } from './mcp-sources.ts';

/** An assignment of an account, with its Pool. */
export interface Assigned extends AssignmentConfig {
  readonly pool: string;
}

/** Tools read the configuration only through a view, and only rows of its Pools, so that they see nothing outside. */
export class OperatorView {
  readonly operator: string;
  readonly services: McpSources['services'];
  readonly process: ProcessState;
  readonly rules: McpSources['rules'];
  /** The Pools in the order of the configuration. The accounts and keys have that order too. */
  readonly pools: readonly PoolConfig[];
  readonly keys: readonly KeyConfig[];
  readonly accounts: readonly AccountConfig[];
  /** Whether the view is of the whole gateway. It then includes accounts of no Pool, and requests without a key. */
  readonly isWhole: boolean;
  readonly #config: Config;
  readonly #owns: ReadonlySet<string>;

  /** The view for those who may change the configuration. @param operator the operator's id, or another name */
  static whole(operator: string, sources: McpSources): OperatorView {
    const owns = sources.services.loaded().config.pools.map(({ id }) => id);
    return new OperatorView({ id: operator, token_sha256: [], owns, assigned: [], admin: true }, sources, { isWhole: true });
  }

  constructor({ id, owns, assigned }: OperatorConfig, { services, process, rules }: McpSources, { isWhole = false } = {}) {
    const { config } = services.loaded();
    const visible = new Set([...owns, ...assigned]);
    this.operator = id;
    this.isWhole = isWhole;
    this.services = services;
    this.process = process;
    this.rules = rules;
    this.pools = config.pools.filter((pool) => visible.has(pool.id));
    const pools = new Set(this.poolIds);
    this.keys = config.keys.filter(({ pool }) => pools.has(pool));
    const accounts = new Set(this.pools.flatMap(({ assignments }) => assignments.map(({ account }) => account)));
    this.accounts = isWhole ? config.accounts : config.accounts.filter((account) => accounts.has(account.id));
    this.#config = config;
    this.#owns = new Set(owns);
  }

  get poolIds(): readonly string[] {
    return this.pools.map(({ id }) => id);
  }

  get accountIds(): readonly string[] {
    return this.accounts.map(({ id }) => id);
  }

  /** Settings of the whole gateway, which name no Pool, key or account. */
  get settings(): Pick<Config, 'admission' | 'routes' | 'wire'> {
    return this.#config;
  }

  /** The digest of the running configuration. It is equal for equal settings. */
  get configVersion(): string {
    return versionOf(this.#config);
  }

  /** The wall clock's time in Unix milliseconds. */
  now(): number {
    return this.services.clock.wallTime();
  }

  /**
   * The Pools that a filter of rows selects: without a filter all Pools of the view, and none for a Pool outside it. Undefined for all
   * rows.
   */
  poolsFor(filter: string | undefined): readonly string[] | undefined {
    if (filter === undefined) return this.isWhole ? undefined : this.poolIds;
    return this.poolIds.filter((id) => id === filter);
  }

  key(id: string): KeyConfig | undefined {
    return this.keys.find((key) => key.id === id);
  }

  isOwned({ id }: Pick<PoolConfig, 'id'>): boolean {
    return this.#owns.has(id);
  }

  /** Whether the account is in a Pool, and the operator owns all of the account's Pools. */
  ownsAccount(id: string): boolean {
    if (this.isWhole) return true;
    const pools = this.#config.pools.filter(({ assignments }) => assignments.some(({ account }) => account === id));
    return pools.length > 0 && pools.every((pool) => this.isOwned(pool));
  }

  /** The label of an account in log rows. @param name the account's id or label */
  labelOf(name: string): string {
    return this.accounts.find(({ id }) => id === name)?.label ?? name;
  }

  /** The assignments of an account to the Pools of the view. */
  assignmentsOf(account: string): readonly Assigned[] {
    return this.pools.flatMap(({ id, assignments }) =>
      assignments.filter((assignment) => assignment.account === account).map((assignment) => ({ ...assignment, pool: id })),
    );
  }
}
