// What one operator sees: the Pools that it owns or is assigned, their keys, and the accounts that are assigned to them (G3); on the admin
// listener also everything.
import type { Config } from '../config/config.ts';
import { versionOf } from '../config/diff.ts';
import type { AccountConfig, AssignmentConfig, KeyConfig, OperatorConfig, PoolConfig } from '../turn/settings.ts';
import type { McpSources, ProcessState } from './mcp-sources.ts';

/** An assignment of an account, with its Pool. */
export interface Assigned extends AssignmentConfig {
  readonly pool: string;
}

/** Tools read the configuration only through a view, and rows only of its Pools: they cannot see anything outside. */
export class OperatorView {
  readonly operator: string;
  readonly services: McpSources['services'];
  readonly process: ProcessState;
  readonly rules: McpSources['rules'];
  /** In configuration order, as the other two. */
  readonly pools: readonly PoolConfig[];
  readonly keys: readonly KeyConfig[];
  readonly accounts: readonly AccountConfig[];
  /** Whether it is of the whole gateway: accounts of no Pool and requests without a key are in it too. */
  readonly isWhole: boolean;
  readonly #config: Config;
  readonly #owns: ReadonlySet<string>;

  /** The view of those who may change the configuration. @param operator its id, or another name */
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

  /** Settings of the gateway as a whole, which name no Pool, key or account. */
  get settings(): Pick<Config, 'admission' | 'routes' | 'wire'> {
    return this.#config;
  }

  /** Digest of the running configuration: equal for equal settings. */
  get configVersion(): string {
    return versionOf(this.#config);
  }

  /** Unix milliseconds of the machine's wall clock. */
  now(): number {
    return this.services.clock.wallTime();
  }

  /** The Pools that a filter of rows names: all of the view without one, and none for a Pool outside it. Undefined for all rows. */
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

  /** Whether it owns all Pools of the account, and there is one. */
  ownsAccount(id: string): boolean {
    if (this.isWhole) return true;
    const pools = this.#config.pools.filter(({ assignments }) => assignments.some(({ account }) => account === id));
    return pools.length > 0 && pools.every((pool) => this.isOwned(pool));
  }

  /** The label under which the rows of an account are logged. @param name its id or its label */
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
