// The gateway's own requests to an account: with its credential, and again after a renewal where that was refused (Q9).
import type { LoadedConfig } from '../../config/config.ts';
import type { JsonObject } from '../../turn/json.ts';
import { worded } from '../../turn/route-table.ts';
import type { AccountCredentials } from '../account-credentials.ts';
import { type CallAnswer, type CallBounds, call } from '../call.ts';
import type { Upstream } from '../upstreams.ts';

export interface OwnCallsOptions {
  readonly credentials: AccountCredentials;
  /** The current configuration. */
  readonly loaded: () => LoadedConfig;
  readonly upstream: (account: string) => Upstream | undefined;
}

export class OwnCalls {
  readonly #options: OwnCallsOptions;

  constructor(options: OwnCallsOptions) {
    this.#options = options;
  }

  get(id: string, path: string, bounds: CallBounds): Promise<CallAnswer> {
    return this.#send(id, { method: 'GET', path }, bounds);
  }

  post(id: string, path: string, body: JsonObject, bounds: CallBounds): Promise<CallAnswer> {
    return this.#send(id, { method: 'POST', path, body: JSON.stringify(body) }, bounds);
  }

  /** @throws Error when no answer came; CredentialUnavailable when the account cannot be asked */
  async #send(id: string, { method, path, body }: OwnRequest, bounds: CallBounds): Promise<CallAnswer> {
    const { credentials, loaded, upstream } = this.#options;
    const now = loaded();
    const account = now.config.accounts.find((one) => one.id === id);
    const reached = upstream(id);
    if (!account || !reached) throw new Error('unknown account');
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const ask = async (): Promise<CallAnswer & { readonly authorization: string | undefined }> => {
      const own = await credentials.headersFor(account, now);
      const headers = { accept: 'application/json', 'accept-encoding': 'identity', ...type, ...own };
      const answer = await call(reached.carrier, { method, path: worded(path, now.config.wire), headers, body: body ?? null }, bounds);
      return { ...answer, authorization: own.authorization };
    };
    reached.lease();
    try {
      const answer = await ask();
      if (answer.status !== 401) return answer;
      return (await credentials.refused(account, answer.authorization)) === 'renewed' ? await ask() : answer;
    } finally {
      reached.release();
    }
  }
}

interface OwnRequest {
  readonly method: 'GET' | 'POST';
  /** In neutral words. */
  readonly path: string;
  readonly body?: string;
}
