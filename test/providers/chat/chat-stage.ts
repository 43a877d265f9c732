// A gateway with one Chat account for tests of its translation: the request that the account gets, and the reply that clients get.
import type { Clock } from '../../../proxy/base/time/clock.ts';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { type Draft, type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { type Platform, type PlatformAnswer, startPlatform } from '../responses/platform.ts';
import { HELLO, streamed } from './completions.ts';

export const NATIVE = '/backend-api/agent/responses';
export const PUBLIC = '/v1/responses';
export const CHAT = '/v1/chat/completions';

export interface ChatStageOptions {
  /** Members of the account in addition to those of every test. */
  readonly account?: JsonObject;
  /** Members of its model. */
  readonly model?: JsonObject;
  /** Accounts of agent backends that come after it. */
  readonly others?: readonly string[];
  readonly clock?: Clock;
  readonly config?: (draft: Draft) => void;
}

/** A user message for an input. */
export const user = (content: Json): JsonObject => ({ type: 'message', role: 'user', content });

/** A function without parameters. */
export const look: JsonObject = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} }, strict: false };

export const parts = (...texts: readonly string[]): Json => texts.map((text) => ({ type: 'input_text', text }));

export class ChatStage {
  readonly gate: TestGateway;
  readonly platform: Platform;
  readonly #options: ChatStageOptions;

  constructor(gate: TestGateway, platform: Platform, options: ChatStageOptions) {
    this.gate = gate;
    this.platform = platform;
    this.#options = options;
  }

  clear(): void {
    this.platform.clear();
    this.gate.reset();
  }

  /** Changes members of the account from now on. */
  configure({ account, model }: Pick<ChatStageOptions, 'account' | 'model'>): Promise<void> {
    return this.gate.reconfigure((draft) => {
      draft.accounts[0] = accountOf(this.platform, {
        account: { ...this.#options.account, ...account },
        model: { ...this.#options.model, ...model },
      });
    });
  }

  /** The body that the account gets for a native turn with these members. */
  // biome-ignore lint/suspicious/noExplicitAny: assertions look where they expect something
  async sent(members: JsonObject, path = NATIVE): Promise<any> {
    this.platform.clear();
    this.platform.next.push(streamed(HELLO));
    const reply = await this.gate.send(path, { body: { model: 'model-a', stream: true, ...members } });
    const [request] = this.platform.requests;
    if (!request) throw new Error(reply.text);
    return request.json;
  }

  /** The messages that the account gets for this input. */
  async messages(input: Json, members: JsonObject = {}): Promise<readonly JsonObject[]> {
    return (await this.sent({ input, ...members })).messages;
  }

  /** The reply that a native client gets for this answer of the account. */
  async reply(answer: PlatformAnswer, members: JsonObject = {}): Promise<Reply & { readonly events: readonly JsonObject[] }> {
    this.platform.clear();
    this.platform.next.push(answer);
    const reply = await this.gate.send(NATIVE, { body: { model: 'model-a', stream: true, input: [user('hi')], ...members } });
    return { ...reply, events: reply.status === 200 ? translatedEvents(reply.text) : [] };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.gate.close();
    await this.platform.close();
  }
}

/** The events that the translation made; a native stream also has one event of the gateway. */
export const translatedEvents = (text: string): readonly JsonObject[] =>
  eventsOf(text)
    .filter(({ event }) => event !== 'response.metadata')
    .map(({ data }) => data);

export const typesOf = (events: readonly JsonObject[]): readonly string[] => events.map(({ type }) => String(type));

/** The response of the last event. */
export const responseOf = (events: readonly JsonObject[]): JsonObject => (events.at(-1)?.response ?? {}) as JsonObject;

/** The text of an item's first part. */
export function textOf(item: JsonObject | undefined): Json | undefined {
  const { content } = item ?? {};
  const [part] = Array.isArray(content) ? (content as readonly JsonObject[]) : [];
  return part?.text;
}

function accountOf(platform: Platform, { account, model }: Pick<ChatStageOptions, 'account' | 'model'>): JsonObject {
  return {
    id: 'box',
    api: 'chat',
    base_url: platform.url,
    credential: { bearer: { env: 'BEARER_BOX' } },
    models: { 'model-a': 'own-c' },
    catalog: [{ id: 'own-c', context_window: 272_000, ...model }],
    ...account,
  };
}

export async function chatStage(options: ChatStageOptions = {}): Promise<ChatStage> {
  const platform = await startPlatform();
  const gate = await startGateway({
    upstream: { accounts: ['box', ...(options.others ?? [])] },
    ...(options.clock && { clock: options.clock }),
    config(draft) {
      draft.accounts[0] = accountOf(platform, options);
      // Accounts of agent backends precede others within a tier (AA10).
      draft.pools[0].assignments = [{ account: 'box' }, ...(options.others ?? []).map((account) => ({ account, tier: 1 }))];
      options.config?.(draft);
    },
  });
  return new ChatStage(gate, platform, options);
}
