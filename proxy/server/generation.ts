// One loaded configuration, compiled for look-ups. A reload replaces it as a whole, and turns in flight keep theirs.
import { hash } from 'node:crypto';
import { RULES } from '../../rules/index.ts';
import { Networks } from '../base/process/networks.ts';
import type { Config, LoadedConfig } from '../config/config.ts';
import { RouteTable } from '../turn/routes/route-table.ts';
import { Chains } from '../turn/rules/rule-chain.ts';
import type { AccountConfig, KeyConfig, OperatorConfig, PoolConfig } from '../turn/settings.ts';

export class Generation {
  readonly loaded: LoadedConfig;
  readonly config: Config;
  readonly routes: RouteTable;
  readonly chains: Chains;
  readonly accounts: ReadonlyMap<string, AccountConfig>;
  readonly pools: ReadonlyMap<string, PoolConfig>;
  /** The operator's proxies in front of the gateway. */
  readonly proxies: Networks;
  /** Whether the addresses of clients are needed, for networks of keys or for rows. */
  readonly asksAddress: boolean;
  readonly #networks = new Map<readonly string[], Networks>();
  readonly #keys: ReadonlyMap<string, KeyConfig>;
  readonly #operators: ReadonlyMap<string, OperatorConfig>;

  constructor(loaded: LoadedConfig) {
    const { config } = loaded;
    this.loaded = loaded;
    this.config = config;
    this.routes = new RouteTable(config.routes, config.wire);
    this.chains = new Chains(RULES, config.wire);
    this.accounts = new Map(config.accounts.map((account) => [account.id, account]));
    this.pools = new Map(config.pools.map((pool) => [pool.id, pool]));
    this.proxies = new Networks(config.listen.trusted_proxies);
    this.asksAddress = config.log.client_address || config.keys.some(({ allow_from }) => allow_from !== undefined);
    this.#keys = new Map(config.keys.flatMap((key) => key.secret_sha256.map((digest) => [digest, key] as const)));
    this.#operators = new Map(config.operators.flatMap((operator) => operator.token_sha256.map((digest) => [digest, operator] as const)));
  }

  /** The key with this secret, whatever its status. A digest is looked up, so that the timing does not help to guess a secret. */
  keyOf(secret: string): KeyConfig | undefined {
    return this.#keys.get(hash('sha256', secret, 'hex'));
  }

  /** The operator with this token of /mcp. */
  operatorOf(token: string): OperatorConfig | undefined {
    return this.#operators.get(hash('sha256', token, 'hex'));
  }

  hasAddress(networks: readonly string[], address: string | undefined): boolean {
    let known = this.#networks.get(networks);
    if (!known) {
      known = new Networks(networks);
      this.#networks.set(networks, known);
    }
    return known.has(address);
  }
}
