// Sends one turn of a test. It runs through the rules and the encoding of its account, but not through admission, health, limits and the
// request log (AA87).
import { Counters } from '../../base/process/metrics.ts';
import { LATE, withDeadline } from '../../base/time/clock.ts';
import { Attempt } from '../../dispatch/attempt.ts';
import { AttemptObservers } from '../../dispatch/reply/reply-observers.ts';
import { type Composition, composeFrame, composeJson } from '../../dispatch/request/compose.ts';
import type { Generation } from '../../server/generation.ts';
import { errorIn, type ProviderError } from '../../turn/errors/error-statement.ts';
import { carrierFailure, type Failure } from '../../turn/errors/failure.ts';
import { parsedObject } from '../../turn/json/json.ts';
import { LiveTurn } from '../../turn/live-turn.ts';
import { promptOf } from '../../turn/prompt.ts';
import type { AccountModel } from '../../turn/provider/account-model.ts';
import { isApiAccount } from '../../turn/provider/api-account.ts';
import type { LackReason } from '../../turn/provider/lack.ts';
import type { ProviderApi } from '../../turn/provider/provider-api.ts';
import type { RouteKind } from '../../turn/routes/kinds.ts';
import type { AccountConfig, KeyConfig, PoolConfig } from '../../turn/settings.ts';
import { inputTokens } from '../../turn/token-estimate.ts';
import type { Body, ModelView, Route } from '../../turn/turn.ts';
import type { TurnHost } from '../../turn/turn-host.ts';
import type { AccountHeaders } from '../../upstream/account-credentials.ts';
import { SocketSlot } from '../../upstream/carriers/websocket/socket-slot.ts';
import type { Services } from '../services.ts';
import { OUTPUT_TOKENS } from './test-bodies.ts';
import { TestClient } from './test-client.ts';

/**
 * The kind of the turn. API accounts get a native turn, whose developer messages stay, because these may be refused. Agent backends get a
 * public turn.
 */
export const kindFor = (account: AccountConfig): RouteKind => (isApiAccount(account) ? 'responses' : 'public-responses');

/** What all turns of a test have in common. */
export interface TestSubject {
  readonly services: Services;
  readonly host: TurnHost;
  readonly generation: Generation;
  readonly route: Route;
  readonly account: AccountConfig;
  readonly pool: PoolConfig;
  readonly model: ModelView;
  /** What is known of the model at an API account. */
  readonly known: AccountModel | undefined;
  readonly headers: AccountHeaders;
}

export interface TestedTurn {
  readonly ms: number;
  readonly firstEventMs: number | undefined;
  readonly client: TestClient;
  readonly failure: Failure | undefined;
  /** The error as the account stated it, before it was translated for clients. */
  readonly stated: ProviderError | undefined;
  /** Why no account with these settings could take the turn. It was then not sent. */
  readonly lack: LackReason | undefined;
  readonly adapted: readonly string[];
}

/** The longest time of a whole turn. */
const TURN_MS = 120_000;

export async function sendTestTurn(subject: TestSubject, asked: Body, over: 'http' | 'websocket'): Promise<TestedTurn> {
  const { services, generation, account, route, headers } = subject;
  const { clock, providerOf, upstreams, credentials } = services;
  const { provider, stated } = watched(providerOf(account));
  const client = new TestClient(() => clock.now());
  const turn = turnOf(subject);
  const work = { body: asked };
  await turn.rules.request(work);
  await turn.rules.edit(work);
  const began = clock.now();
  const ended = (end: Partial<TestedTurn>): TestedTurn => ({
    ms: clock.now() - began,
    firstEventMs: client.firstEventAt === undefined ? undefined : client.firstEventAt - began,
    client,
    failure: undefined,
    stated: stated(),
    lack: undefined,
    adapted: [],
    ...end,
  });
  const lack = provider.lacks?.({ kind: route.kind ?? kindFor(account), body: work.body }, account, subject.known);
  if (lack) return ended({ lack: lack.reason });
  const upstream = upstreams.of(account.id);
  if (!upstream) return ended({ failure: carrierFailure('connect') });
  const estimateUsage = () => ({ input_tokens: inputTokens(asked), cached_input_tokens: null, output_tokens: null });
  const composition: Composition = {
    turn,
    provider,
    work,
    account,
    own: headers,
    session: undefined,
    model: subject.known,
    estimateUsage,
    trim: () => undefined,
  };
  const slot = over === 'websocket' ? new SocketSlot() : undefined;
  const composed = (slot && composeFrame(work.body, composition, slot)) ?? composeJson(work.body, composition);
  const { request, adapted = [] } = composed;
  const source = { turn, account, provider, continuation: NO_CONTINUATION, keepResponse: undefined, isUnstored: true };
  const common = {
    request: { client, countOutput: () => undefined },
    counters: new Counters(),
    secrets: () => [credentials.secretOf(account, generation.loaded.bearers.get(account.id)) ?? []].flat(),
    prompt: () => promptOf(work.body),
  };
  upstream.lease();
  try {
    const attempt = new TestAttempt(common, { account, upstream, tier: 0 }, composed, new AttemptObservers([], new Map(), source));
    const attempted = await withDeadline(attempt.run({ ...request, body: await request.body }), clock, TURN_MS);
    if (attempted === LATE) {
      client.leave();
      return ended({ failure: carrierFailure('first_byte'), adapted });
    }
    const { verdict } = attempted;
    const failure = verdict.failure ?? (verdict.kind === 'done' ? undefined : carrierFailure('malformed'));
    return ended({ failure, adapted });
  } finally {
    upstream.release();
    slot?.end();
    turn.held.releaseAll();
  }
}

/** An attempt that is not part of a turn's loop. Its failure is kept from the client, and nothing follows it. */
class TestAttempt extends Attempt {
  override get followUp(): undefined {
    return undefined;
  }

  override keepsBack(): boolean {
    return true;
  }

  protected override adjusts(): boolean {
    return false;
  }

  override committed(): void {
    // No other attempt would follow.
  }

  protected override begins(): void {
    // The attempt has no row.
  }

  protected override ended(): void {
    // Its promise says how it ended.
  }
}

/** The provider API, with access to the last error that it classified. */
function watched(provider: ProviderApi): { readonly provider: ProviderApi; readonly stated: () => ProviderError | undefined } {
  let stated: ProviderError | undefined;
  const { failures } = provider;
  return {
    provider: {
      ...provider,
      failures: {
        ofStatus: (answer, context) => {
          stated = statedIn(answer.body);
          return failures.ofStatus(answer, context);
        },
        inBand: (data, now) => {
          stated ??= errorIn(data);
          return failures.inBand(data, now);
        },
      },
    },
    stated: () => stated,
  };
}

function statedIn(body: Buffer): ProviderError | undefined {
  const json = parsedObject(body.toString('utf8'));
  return json && errorIn(json);
}

const NO_CONTINUATION = { hard: undefined, soft: undefined, session: undefined, affinity: undefined, states: new Map() };

/** Makes the turn. Its key has no limits. Its cap is enforced by the gateway if the account does not get it (CR1). */
function turnOf({ host, generation, route, pool, model }: TestSubject): LiveTurn {
  const key: KeyConfig = {
    id: 'account-test',
    pool: pool.id,
    weight: 1,
    secret_sha256: [],
    status: 'active',
    output_tokens: { max: OUTPUT_TOKENS },
    limits: {},
    overflow: true,
  };
  const arrival = {
    route,
    params: {},
    client: 'http' as const,
    method: route.method,
    path: route.template,
    headers: { 'content-type': 'application/json' },
    query: '',
    keyOf: () => key,
  };
  const turn = new LiveTurn(arrival, generation, host);
  turn.identify(key.id);
  turn.model = model;
  return turn;
}
