// A provider API: how the accounts of one kind are spoken to. The turn between its surface and its provider is a Responses turn: a provider
// encodes it for one account, and decodes the account's reply into Responses events.
import type { AccountConfig } from '../settings.ts';
import type { AccountModel } from './account-model.ts';
import type { ProviderFailures } from './failures.ts';
import type { AskedTurn, Lack } from './lack.ts';
import type { ProviderCatalog, ProviderFiles, ProviderQuota } from './reads.ts';
import type { ProviderReplies } from './replies.ts';
import type { ProviderCompaction, ProviderRequests } from './requests.ts';

export interface ProviderApi {
  /** Lower case, as in explanations and in the rules that name it. */
  readonly name: string;
  /**
   * Why this account cannot take such a turn; undefined if it can. Absent for an API whose accounts take every turn.
   * @param model the turn's model at this account; undefined if nothing is known of it
   */
  readonly lacks?: (turn: AskedTurn, account: AccountConfig, model: AccountModel | undefined) => Lack | undefined;
  /** Whether this account gets the turn only without a part of it: others are preferred (AA19). */
  readonly loses?: (turn: AskedTurn, account: AccountConfig) => boolean;
  /** What this account gets for an effort, in its own word; undefined: none is sent. Absent for an API whose accounts get each as it is (AA45). */
  readonly effort?: (asked: string, account: AccountConfig, model: AccountModel | undefined) => string | undefined;
  /** True for an API whose accounts store no response: one can be continued only on the websocket that it came over (AA23). */
  readonly isUnstored?: boolean;
  readonly requests: ProviderRequests;
  readonly replies: ProviderReplies;
  readonly failures: ProviderFailures;
  readonly compaction: ProviderCompaction;
  readonly quota: ProviderQuota;
  readonly catalog: ProviderCatalog;
  /** Absent for an API whose accounts keep no files. */
  readonly files?: ProviderFiles;
}

/** The API of an account. */
export type ProviderOf = (account: AccountConfig) => ProviderApi;
