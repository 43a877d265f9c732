// What one operator sees: the Pools that it owns or is assigned, their keys, and the accounts that are assigned to them (G3).
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
  readonly #config: Config;
  readonly #owns: ReadonlySet<string>;

  constructor({ id, owns, assigned }: OperatorConfig, { services, process, rules }: McpSources) {
    const { config } = services.loaded();
    const visible = new Set([...owns, ...assigned]);
    this.operator = id;
    this.services = services;
    this.process = process;
    this.rules = rules;
    this.pools = config.pools.filter((pool) => visible.has(pool.id));
    const pools = new Set(this.poolIds);
    this.keys = config.keys.filter(({ pool }) => pools.has(pool));
    const accounts = new Set(this.pools.flatMap(({ assignments }) => assignments.map(({ account }) => account)));
    this.accounts = config.accounts.filter((account) => accounts.has(account.id));
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

  /** The Pools that a filter names: all of the view without one, and none for a Pool outside it. */
  poolsFor(filter: string | undefined): readonly string[] {
    return filter === undefined ? this.poolIds : this.poolIds.filter((id) => id === filter);
  }

  key(id: string): KeyConfig | undefined {
    return this.keys.find((key) => key.id === id);
  }

  isOwned({ id }: PoolConfig): boolean {
    return this.#owns.has(id);
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
