// Makes the services of dispatch from those of the gateway.
import { LackingAccounts } from '../accounts/selection/demand.ts';
import type { ProviderOf } from '../turn/provider/provider-api.ts';
import { CiphertextRecovery } from './retries/ciphertext-recovery.ts';
import { NextSteps } from './retries/next-step.ts';
import type { TurnServices } from './turn-attempts.ts';

export interface SharedServices
  extends Pick<TurnServices, 'continuity' | 'counters' | 'credentials' | 'histories' | 'models' | 'tiers' | 'websockets'> {
  readonly capacity: Pick<TurnServices, 'compactPaths' | 'selection'>;
  readonly retryBudgets: TurnServices['budgets'];
  readonly providerOf: ProviderOf;
}

export function dispatchServices(services: SharedServices, own: Pick<TurnServices, 'followUps' | 'observers'>): TurnServices {
  const { capacity, continuity, counters, credentials, histories, models, providerOf, retryBudgets: budgets, tiers, websockets } = services;
  const { compactPaths, selection } = capacity;
  const recovery = new CiphertextRecovery(continuity, selection);
  return {
    ...own,
    ...{ budgets, compactPaths, continuity, counters, credentials, histories, models, selection, tiers, websockets },
    lacking: new LackingAccounts(providerOf, (account, id) => models.accountModel(account, id)),
    steps: new NextSteps({ selection, counters, providerOf, recovery }),
  };
}
