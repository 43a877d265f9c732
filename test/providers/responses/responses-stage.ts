// A gateway with one account at a server of the public Responses API, for the tests of a file.
import type { NamedApi } from '../../../proxy/rehearsal/apis/api-settings.ts';
import { type Draft, startGateway, type TestGateway } from '../../support/gateway.ts';
import { type Platform, startPlatform } from './platform.ts';

export interface ResponsesStageOptions {
  /** The account's members; its id is among them. The address, a model and its listing have defaults. */
  readonly account: Draft;
  /** Accounts of agent backends that come before it. */
  readonly others?: readonly string[];
  readonly config?: (draft: Draft) => void;
}

export class ResponsesStage {
  readonly gate: TestGateway;
  readonly platform: Platform;

  constructor(gate: TestGateway, platform: Platform) {
    this.gate = gate;
    this.platform = platform;
  }

  clear(): void {
    this.platform.clear();
    this.gate.heal();
  }

  async close(): Promise<void> {
    await this.gate.close();
    await this.platform.close();
  }
}

export async function responsesStage({ account, others = [], config }: ResponsesStageOptions): Promise<ResponsesStage> {
  const platform = await startPlatform();
  const gate = await startGateway({
    upstream: { accounts: [...others, account.id] },
    config(draft) {
      draft.accounts[others.length] = {
        base_url: platform.url,
        models: { 'model-a': 'own-a' },
        catalog: [{ id: 'own-a', context_window: 100_000 }],
        ...account,
      };
      config?.(draft);
    },
  });
  return new ResponsesStage(gate, platform);
}

/** A gateway with one account at the simulated server of its API, which refuses what such a server would refuse. */
export function startStrict(members: Omit<NamedApi, 'api'>): Promise<TestGateway> {
  const api = { api: 'responses', ...members } as const;
  return startGateway({
    upstream: { accounts: [{ id: 'box', api }] },
    config: (draft) => void Object.assign(draft.accounts[0], api),
  });
}
