// The settings of API accounts: accounts that speak the Responses API or the Chat Completions API of a platform or of a local server (AA1).
import type { JsonObject } from '../json/json.ts';
import type { AccountConfig, PoolConfig, Prices } from '../settings.ts';
import type { PresetName } from './presets.ts';
import type { Quirks } from './quirks.ts';
import type { ApiCompaction, HostedTool, Modality, Served } from './served.ts';

/** What an operator declares of one model of an account. Each declared member replaces what the account's list states (AA7). */
export interface DeclaredModel {
  /** The account's own id of the model. */
  readonly id: string;
  readonly context_window?: number;
  readonly max_output?: number;
  /** An empty list: the model does not reason. */
  readonly reasoning_levels?: readonly string[];
  readonly default_level?: string;
  readonly input_modalities?: readonly Modality[];
  readonly tools?: boolean;
  readonly kind?: 'turns' | 'embedding';
  readonly prices?: Prices;
  /** The exposed id of a model whose catalog entry supplies what native clients need (AA11). */
  readonly like?: string;
  /** Members that are copied into the model's entry in native lists. */
  readonly native: JsonObject;
}

export interface ApiAccountConfig extends AccountConfig {
  readonly api: 'responses' | 'chat';
  readonly preset?: PresetName;
  /** Parameters of each request's query, which are never logged. */
  readonly query: Readonly<Record<string, string>>;
  readonly insecure_http: boolean;
  /** Timeouts that replace the two upstream timeouts of the configuration. */
  readonly first_byte_ms?: number;
  readonly idle_ms?: number;
  readonly catalog: readonly DeclaredModel[];
  /** Which of the models that the account lists are served. If false, the list is not read. */
  readonly read_models: 'all' | 'declared' | false;
  readonly serves: readonly Served[];
  readonly hosted_tools: readonly HostedTool[];
  readonly quirks: Quirks;
  readonly compact: ApiCompaction;
}

/** The name of the account's preset; undefined for an account without one. */
export const presetName = (account: AccountConfig): PresetName | undefined => (isApiAccount(account) ? account.preset : undefined);

export const isApiAccount = (account: AccountConfig): account is ApiAccountConfig => account.api !== 'agent';

/** The account of an attempt that a provider of API accounts encodes. @throws Error for any other account, which is a fault of the program */
export function apiAccountOf({ account }: { readonly account: AccountConfig }): ApiAccountConfig {
  if (!isApiAccount(account)) throw new Error(`account ${account.id} has no settings of another API`);
  return account;
}

/** Cached by the configuration's object, because every turn asks. */
const poolsWithApis = new WeakMap<Pick<PoolConfig, 'assignments'>, boolean>();

/** Whether an account of the Pool speaks another API than agent backends. */
export function hasApiAccounts(pool: Pick<PoolConfig, 'assignments'>, accounts: ReadonlyMap<string, AccountConfig>): boolean {
  let known = poolsWithApis.get(pool);
  if (known === undefined) {
    known = pool.assignments.some(({ account: id }) => {
      const account = accounts.get(id);
      return account !== undefined && isApiAccount(account);
    });
    poolsWithApis.set(pool, known);
  }
  return known;
}

/** The name of the header that has the account's credential, in lower case (AA4). */
export const credentialHeader = ({ credential }: Pick<AccountConfig, 'credential'>): string =>
  credential && 'header' in credential ? credential.header.name : 'authorization';
