// A provider API: how the gateway speaks with accounts of one kind. Between the client's surface and the provider, a turn is a Responses
// turn. A provider encodes it for one account, and decodes the account's reply into Responses events.
import type { AccountConfig } from '../settings.ts';
import type { AccountModel } from './account-model.ts';
import type { AskedTurn, Lack } from './lack.ts';
import type { ProviderFailures } from './provider-failures.ts';
import type { ProviderReplies } from './provider-replies.ts';
import type { ProviderCompaction, ProviderRequests } from './provider-requests.ts';
import type { ProviderCatalog, ProviderFiles, ProviderQuota } from './reads.ts';

export interface ProviderApi {
  /** Lower case, as in explanations and in the rules that name it. */
  readonly name: string;
  /**
   * Why this account cannot take such a turn; undefined if it can. Absent if accounts of the API take every turn.
   * @param model the turn's model at this account; undefined if nothing is known of it
   */
  readonly lacks?: (turn: AskedTurn, account: AccountConfig, model: AccountModel | undefined) => Lack | undefined;
  /** Whether this account would get the turn without a part of it. Other accounts are then preferred (AA19). */
  readonly loses?: (turn: AskedTurn, account: AccountConfig) => boolean;
  /**
   * The account's own word for an effort; undefined if no effort is sent. Absent if accounts of the API get each effort unchanged (AA45).
   */
  readonly effort?: (asked: string, account: AccountConfig, model: AccountModel | undefined) => string | undefined;
  /** Whether accounts of the API store no response. A response can then be continued only on the websocket that it came over (AA23). */
  readonly isUnstored?: boolean;
  readonly requests: ProviderRequests;
  readonly replies: ProviderReplies;
  readonly failures: ProviderFailures;
  readonly compaction: ProviderCompaction;
  readonly quota: ProviderQuota;
  readonly catalog: ProviderCatalog;
  /** Absent if accounts of the API keep no files. */
  readonly files?: ProviderFiles;
}

/** Returns the API of an account. */
export type ProviderOf = (account: AccountConfig) => ProviderApi;
