// The gateway's own requests to an account. They carry its credential, and are sent again after a renewal if it was refused (Q9).
import type { LoadedConfig } from '../../config/config.ts';
import type { JsonObject } from '../../turn/json/json.ts';
import { credentialHeader } from '../../turn/provider/api-account.ts';
import type { PathRoot } from '../../turn/provider/reads.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import { ownRequestHeaders } from '../../turn/wire/own-request.ts';
import type { AccountCredentials, StaticCredentials } from '../account-credentials.ts';
import { type CallAnswer, type CallBounds, call } from '../call.ts';
import type { Upstream } from '../upstreams.ts';

export interface OwnCallsOptions {
  readonly credentials: AccountCredentials;
  /** The current configuration. */
  readonly loaded: () => LoadedConfig;
  readonly upstream: (account: string) => Upstream | undefined;
}

/** An account in one configuration. A turn in flight keeps its account through a reload. */
export interface Destination {
  readonly account: AccountConfig;
  readonly upstream: Upstream;
  readonly loaded: StaticCredentials;
}

export class OwnCalls {
  readonly #options: OwnCallsOptions;

  constructor(options: OwnCallsOptions) {
    this.#options = options;
  }

  /** Sends a request to the account as it is configured now. */
  async get(id: string, path: string, bounds: CallBounds, from: PathRoot = 'base'): Promise<CallAnswer> {
    const loaded = this.#options.loaded();
    const account = loaded.config.accounts.find((one) => one.id === id);
    const upstream = this.#options.upstream(id);
    if (!account || !upstream) throw new Error('unknown account');
    return this.#send({ account, upstream, loaded }, { method: 'GET', path, from }, bounds);
  }

  post(to: Destination, path: string, body: JsonObject, bounds: CallBounds): Promise<CallAnswer> {
    return this.#send(to, { method: 'POST', path, from: 'base', body: JSON.stringify(body) }, bounds);
  }

  /** @throws Error if no answer came, or CredentialUnavailable if the account has no usable credential */
  async #send(to: Destination, { method, path, from, body }: OwnRequest, bounds: CallBounds): Promise<CallAnswer> {
    const { credentials } = this.#options;
    const { account, upstream, loaded } = to;
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const ask = async (): Promise<CallAnswer & { readonly authorization: string | undefined }> => {
      const own = await credentials.headersFor(account, loaded.bearers.get(account.id));
      const headers = { ...ownRequestHeaders(account), ...type, ...own };
      const answer = await call(upstream.carrier, { method, path, from, headers, body: body ?? null }, bounds);
      return { ...answer, authorization: own[credentialHeader(account)] };
    };
    upstream.lease();
    try {
      const answer = await ask();
      if (answer.status !== 401) return answer;
      return (await credentials.refused(account, answer.authorization)) === 'renewed' ? await ask() : answer;
    } finally {
      upstream.release();
    }
  }
}

interface OwnRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly from: PathRoot;
  readonly body?: string;
}
