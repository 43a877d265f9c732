// The record of the provider: each dispatch of each call with its beginning and end, and each refresh token that was sent.
import { type Provider, startProvider } from '../../../proxy/rehearsal/provider.ts';
import type { ReceivedRequest, RequestEnd } from '../../../proxy/rehearsal/received-request.ts';
import { isObject } from '../../../proxy/turn/json/json.ts';
import { LOGINS, rehearsalAccounts } from './settings.ts';

/** A prompt that names the call, and states the time of each event in its reply. */
export const promptOf = (call: number, key: string, paceMs: number): string => `call ${call} of ${key}, ${paceMs} ms`;

const PROMPT = /call (\d+) of (\w+), (\d+) ms/;

const isRefresh = (path: string): boolean => path.endsWith('/oauth/token');

export interface Dispatch {
  readonly call: number;
  readonly key: string;
  readonly account: string;
  /** Whether it was answered with 401, because its token had expired. */
  readonly isUnauthorised: boolean;
  /** The time on the monotonic clock. */
  readonly at: number;
  /** Undefined while the dispatch runs. */
  readonly end: { readonly at: number; readonly how: RequestEnd } | undefined;
}

export class ProviderRecord {
  readonly provider: Provider;
  /** How long the answer to a refresh takes after its token was used up. */
  refreshMs: () => number = () => 0;
  readonly #dispatches: Dispatch[] = [];
  /** How often each token was sent, by account and token. */
  readonly #refreshTokens = new Map<string, number>();

  private constructor(provider: Provider) {
    this.provider = provider;
  }

  static async start(): Promise<ProviderRecord> {
    const provider = await startProvider({
      accounts: rehearsalAccounts(),
      observe: (request) => record.#observe(request),
      faultSource: ({ turn, body, path }) => {
        if (isRefresh(path)) return [{ kind: 'stall', at: 'after-headers', ms: record.refreshMs() }];
        const pace = Number(turn > 0 ? PROMPT.exec(body.toString('latin1'))?.[3] : 0);
        return pace > 0 ? [{ kind: 'pace', ms: pace }] : undefined;
      },
    });
    const record: ProviderRecord = new ProviderRecord(provider);
    return record;
  }

  get dispatches(): readonly Dispatch[] {
    return this.#dispatches;
  }

  /** The number of refresh tokens that were sent. */
  get refreshes(): number {
    return [...this.#refreshTokens.values()].reduce((sum, times) => sum + times, 0);
  }

  /** The tokens that were sent more than once. */
  get spentTwice(): readonly string[] {
    return [...this.#refreshTokens].flatMap(([token, times]) => (times > 1 ? [`${token}, ${times} times`] : []));
  }

  /** Drops the dispatches so far. */
  clear(): void {
    this.#dispatches.length = 0;
  }

  #observe({ turn, account, body, path, json, closed, method, headers }: ReceivedRequest): void {
    if (isRefresh(path) && isObject(json)) {
      const token = `${account}: ${json.refresh_token}`;
      this.#refreshTokens.set(token, (this.#refreshTokens.get(token) ?? 0) + 1);
    }
    const [, call, key = ''] = (turn > 0 && PROMPT.exec(body.toString('latin1'))) || [];
    if (call === undefined) return;
    let end: Dispatch['end'];
    void closed.then((how) => {
      end = { at: performance.now(), how };
    });
    const own = {
      call: Number(call),
      key,
      account,
      // On a websocket the token was checked at the upgrade.
      isUnauthorised:
        method !== 'WS' && LOGINS.includes(account) && !this.provider.loginOf(account).accepts(headers.authorization, Date.now()),
      at: performance.now(),
      get end() {
        return end;
      },
    };
    this.#dispatches.push(own);
  }
}

/** The most dispatches that ran at the same time for at least this long, so that the order in which sockets are read does not matter. */
export function peakOf(dispatches: readonly Dispatch[], lastsMs: number): number {
  const events = dispatches
    .flatMap(({ at, end }) => [
      { at, by: 1 },
      { at: end?.at ?? Number.POSITIVE_INFINITY, by: -1 },
    ])
    .toSorted((one, other) => one.at - other.at || one.by - other.by);
  let [running, peak] = [0, 0];
  for (const [i, { at, by }] of events.entries()) {
    running += by;
    if (running <= peak) continue;
    // How long at least this many run from here on.
    let [now, until] = [running, Number.POSITIVE_INFINITY];
    for (const next of events.slice(i + 1)) {
      now += next.by;
      if (now >= running) continue;
      until = next.at;
      break;
    }
    if (until - at >= lastsMs) peak = running;
  }
  return peak;
}
