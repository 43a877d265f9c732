// The services of dispatch, which all of its files share.
import type { CompactPaths } from '../accounts/compact-paths.ts';
import { LackingAccounts, type ModelOf } from '../accounts/selection/lacking-accounts.ts';
import type { Selection } from '../accounts/selection/selection.ts';
import type { Counters } from '../base/process/metrics.ts';
import type { Continuity } from '../sessions/continuity.ts';
import type { WebsocketHistories } from '../sessions/websocket-histories.ts';
import type { ProviderOf } from '../turn/provider/provider-api.ts';
import type { AccountCredentials } from '../upstream/account-credentials.ts';
import type { WebsocketSupport } from '../upstream/websocket-support.ts';
import type { FollowUps } from './follow-up.ts';
import type { ReplyObservers } from './reply/reply-observers.ts';
import { CiphertextRecovery } from './retries/ciphertext-recovery.ts';
import { NextSteps } from './retries/next-step.ts';
import type { RetryBudgets } from './retries/retry-budget.ts';
import type { TierServices } from './tiers/turn-tiers.ts';

/** The services of the gateway that dispatch uses unchanged. */
interface Shared {
  readonly continuity: Continuity;
  readonly counters: Counters;
  readonly credentials: AccountCredentials;
  readonly histories: WebsocketHistories;
  readonly models: { readonly accountModel: ModelOf };
  readonly tiers: TierServices;
  readonly websockets: WebsocketSupport;
}

interface OfCapacity {
  readonly compactPaths: CompactPaths;
  readonly selection: Selection;
}

/** What the rest of the gateway does for replies. */
export interface ReplyServices {
  readonly observers: ReplyObservers;
  /** The follow-ups by kind. */
  readonly followUps: FollowUps;
}

export interface DispatchServices extends Shared, OfCapacity, ReplyServices {
  readonly budgets: RetryBudgets;
  readonly lacking: LackingAccounts;
  readonly steps: NextSteps;
}

export interface GatewayServices extends Shared {
  readonly capacity: OfCapacity;
  readonly retryBudgets: RetryBudgets;
  readonly providerOf: ProviderOf;
}

export function dispatchServices(services: GatewayServices, ofReplies: ReplyServices): DispatchServices {
  const { capacity, continuity, counters, credentials, histories, models, providerOf, retryBudgets: budgets, tiers, websockets } = services;
  const { compactPaths, selection } = capacity;
  const recovery = new CiphertextRecovery(continuity, selection);
  return {
    ...ofReplies,
    ...{ budgets, compactPaths, continuity, counters, credentials, histories, models, selection, tiers, websockets },
    lacking: new LackingAccounts(providerOf, (account, id) => models.accountModel(account, id)),
    steps: new NextSteps({ selection, counters, providerOf, recovery }),
  };
}
