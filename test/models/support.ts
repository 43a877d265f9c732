// Shared by the tests of catalogs: entries as providers send them, and rows of the configuration.
import { AccountCatalogs } from '../../proxy/models/catalog/account-catalogs.ts';
import { parseCatalog } from '../../proxy/models/catalog/catalog-parser.ts';
import { ListingCache, Listings, type ListPolicy } from '../../proxy/models/lists/listings.ts';
import type { RoutabilityOfAccounts } from '../../proxy/models/pool-model.ts';
import { PoolModels } from '../../proxy/models/pool-models.ts';
import type { Json, JsonObject } from '../../proxy/turn/json/json.ts';
import type { AccountConfig, AssignmentConfig, PoolConfig } from '../../proxy/turn/settings.ts';
import { allowsModel, reflectedEntry } from '../../rules/helpers/key-policy.ts';
import { POOL } from '../support/turns/turn.ts';

/** An entry with every member that native clients need. */
export const entry = (slug: string, fields: Readonly<Record<string, unknown>> = {}): JsonObject =>
  ({
    slug,
    display_name: slug,
    description: 'a model',
    default_reasoning_level: 'medium',
    supported_reasoning_levels: ['low', 'medium', 'high'].map((effort) => ({ effort, description: effort })),
    shell_type: 'shell_command',
    visibility: 'list',
    supported_in_api: true,
    priority: 1,
    base_instructions: 'You are a test agent.',
    support_verbosity: true,
    truncation_policy: { mode: 'tokens', limit: 10000 },
    experimental_supported_tools: [],
    context_window: 272000,
    max_context_window: 272000,
    effective_context_window_percent: 95,
    use_responses_lite: false,
    ...fields,
  }) as JsonObject;

export const account = (id: string, fields: Partial<AccountConfig> = {}): AccountConfig => ({
  id,
  label: id,
  api: 'agent',
  base_url: 'rehearsal:',
  headers: {},
  paused: false,
  visible: true,
  max_concurrent: 32,
  models: {},
  keep_fields: [],
  drop_fields: [],
  websocket: true,
  compact: 'route',
  session_header: 'none',
  reserve_percent: 0,
  ...fields,
});

export const assignment = (id: string, fields: Partial<AssignmentConfig> = {}): AssignmentConfig => ({
  account: id,
  active: true,
  eligible: true,
  weight: 1,
  tier: 0,
  ...fields,
});

/** Health that the test sets: names in `down` are accounts, or `account/model`. */
export class Health implements RoutabilityOfAccounts {
  version = 0;
  #down: ReadonlySet<string> = new Set();

  set down(names: readonly string[]) {
    this.#down = new Set(names);
    this.version += 1;
  }

  routable(accountId: string, model: string): boolean {
    return !this.#down.has(accountId) && !this.#down.has(`${accountId}/${model}`);
  }
}

/** The policy for lists, as the gateway wires it. */
export const LIST_POLICY: ListPolicy = { allowsModel, permittedEntry: reflectedEntry };

export interface World {
  readonly accounts: AccountCatalogs;
  readonly health: Health;
  readonly models: PoolModels;
  readonly lists: Listings;
}

/** One Pool with accounts that have just been read, all assigned in the given order unless `pool` differs. */
export function world(
  read: Readonly<Record<string, readonly unknown[]>>,
  options: { readonly pool?: Partial<PoolConfig>; readonly accounts?: Readonly<Record<string, Partial<AccountConfig>>> } = {},
): World {
  const accounts = new AccountCatalogs();
  const ids = Object.keys(read);
  accounts.configure(ids.map((id) => account(id, options.accounts?.[id])));
  for (const [id, entries] of Object.entries(read)) answer(accounts, id, entries);
  const health = new Health();
  const models = new PoolModels({ ...POOL, assignments: ids.map((id) => assignment(id)), ...options.pool }, accounts, health);
  return { accounts, health, models, lists: new Listings(models, new ListingCache(), LIST_POLICY) };
}

/** A successful read of one account; the entries pass through JSON, as they would on the wire. */
export function answer(accounts: AccountCatalogs, id: string, entries: readonly unknown[]): void {
  const parsed = parseCatalog(JSON.parse(JSON.stringify({ models: entries })));
  const known = accounts.get(id);
  if (!parsed || !known) throw new Error(`the test's answer of ${id} is no catalog`);
  accounts.apply(known, { parsed, etag: undefined, cost: { bytes: 0, ms: 0 } }, 0);
}

/** The entries in the body of a backend list. */
export const entriesOf = (body: string): readonly Readonly<Record<string, Json>>[] => JSON.parse(body).models;
