// The sign-in of the admin listener. None is required on loopback. Otherwise it is an operator's token, a session, or the header of a
// trusted proxy.
import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { Networks, plainAddress } from '../../base/process/networks.ts';
import type { Config, TrustedHeader } from '../../config/config.ts';
import type { McpSources } from '../../mcp/mcp-sources.ts';
import { OperatorView } from '../../mcp/operator-view.ts';
import type { OperatorConfig } from '../../turn/settings.ts';
import { bearerToken } from '../../turn/wire/bearer-token.ts';
import type { Asker } from './asker.ts';
import type { OperatorSession, Sessions } from './sessions.ts';

export interface SignInOptions {
  readonly sources: McpSources;
  readonly sessions: Sessions;
  /** The setting with which the listener was started. */
  readonly trusted: TrustedHeader | undefined;
  readonly onLoopback: boolean;
}

export interface SignedRequest {
  readonly headers: IncomingHttpHeaders;
  /** The address of the connection. */
  readonly address: string | undefined;
  readonly isSecure: boolean;
}

export interface SignedIn {
  readonly asker: Asker;
  /** Present if the cookie of the session has to be renewed. */
  readonly cookie?: string | undefined;
}

const LOCAL = 'command';

export class SignIn {
  readonly #options: SignInOptions;
  readonly #proxies: Networks;

  constructor(options: SignInOptions) {
    this.#options = options;
    this.#proxies = new Networks(options.trusted?.from ?? []);
  }

  /** Whether a request came through a proxy that signs people in. */
  isProxied({ address }: Pick<SignedRequest, 'address'>): boolean {
    return this.#proxies.has(address === undefined ? undefined : plainAddress(address));
  }

  /** Undefined if a sign-in is required, and is missing or was refused. */
  of(request: SignedRequest): SignedIn | undefined {
    const { onLoopback, sessions, trusted } = this.#options;
    const { headers } = request;
    const token = bearerToken({ authorization: headers.authorization });
    const proxied = this.isProxied(request);
    if (onLoopback && !proxied) return { asker: this.#whole(LOCAL, null) };
    if (token !== undefined) return this.#operator((one) => one.token_sha256.includes(digestOf(token)));
    if (proxied && trusted) {
      const stated = headers[trusted.name];
      // A header that is sent twice arrives joined or as a list, and is not an id.
      return typeof stated === 'string' ? this.#operator(({ id }) => id === stated) : undefined;
    }
    const session = sessions.of(headers.cookie);
    const found = session && this.#operator((one) => isOf(one, session));
    return found && session && { ...found, cookie: sessions.renewed(session, request.isSecure) };
  }

  /** The cookie of a new session; undefined if the request has no valid token. */
  begin({ headers, isSecure }: SignedRequest): string | undefined {
    const token = bearerToken({ authorization: headers.authorization });
    const digest = token === undefined ? undefined : digestOf(token);
    const operator = digest === undefined ? undefined : this.#config.operators.find((one) => one.token_sha256.includes(digest));
    return operator && digest !== undefined ? this.#options.sessions.begin(operator.id, digest, isSecure) : undefined;
  }

  #operator(matches: (operator: OperatorConfig) => boolean): SignedIn | undefined {
    const found = this.#config.operators.find(matches);
    if (!found) return undefined;
    const { id } = found;
    if (found.admin) return { asker: this.#whole(`operator:${id}`, id) };
    const { sources } = this.#options;
    return { asker: { actor: `operator:${id}`, operator: id, view: () => new OperatorView(found, sources) } };
  }

  #whole(actor: string, operator: string | null): Asker {
    return { actor, operator, view: () => OperatorView.whole(operator ?? actor, this.#options.sources) };
  }

  get #config(): Config {
    return this.#options.sources.services.loaded().config;
  }
}

const isOf = ({ id, token_sha256 }: OperatorConfig, { operator, token }: OperatorSession): boolean =>
  id === operator && token_sha256.includes(token);

const digestOf = (token: string): string => hash('sha256', token, 'hex');
