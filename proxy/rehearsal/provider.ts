// The rehearsal provider: an HTTP server that simulates the accounts of an upstream provider, and their failures.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { AccountListener } from './account/account-listener.ts';
import { AccountSockets } from './account/account-sockets.ts';
import { agentEndpoints } from './account/agent-endpoints.ts';
import type { SimulatedLogin } from './account/login.ts';
import { type RehearsalAccount, SimulatedAccount } from './account/simulated-account.ts';
import { API_PREFIX, apiEndpoints } from './apis/api-endpoints.ts';
import { deliver } from './delivery/delivery.ts';
import { stepsOf } from './delivery/delivery-steps.ts';
import { HttpLine } from './delivery/http-line.ts';
import type { PausedAnswers } from './faults/paused-answers.ts';
import type { Authorization } from './login/authorization.ts';
import { catalogOf, modelsWithin } from './model/sample-models.ts';
import { type RequestEnd, receivedBody } from './received-request.ts';
import { type ExchangeOptions, Exchanges, type Recipient } from './shared-exchanges.ts';

export interface ProviderOptions extends ExchangeOptions {
  readonly accounts: readonly RehearsalAccount[];
}

interface RunningAccount extends Recipient {
  readonly listener: AccountListener;
  readonly sockets: AccountSockets;
}

export class Provider {
  readonly #exchanges: Exchanges;
  readonly #accounts = new Map<string, RunningAccount>();

  /** Call `startProvider` instead. */
  constructor(options: ProviderOptions) {
    this.#exchanges = new Exchanges(options);
    for (const settings of options.accounts) {
      const account = new SimulatedAccount(settings);
      const endpoints = account.api ? apiEndpoints(account.api) : agentEndpoints(this.#exchanges.wire);
      const recipient = { account, endpoints, catalog: catalogOf(settings.models ?? modelsWithin(settings.profile?.contextWindow)) };
      const sockets = new AccountSockets(recipient, this.#exchanges);
      const listener = new AccountListener({
        onRequest: (request, response) => void this.#serve(running, request, response),
        upgrades: ({ url = '', headers }) => headers.upgrade?.toLowerCase() === 'websocket' && this.#exchanges.upgrades(recipient, url),
        onUpgrade: (request, connection, head) => void sockets.upgrade(request, connection, head),
        onClose: () => sockets.terminate(),
      });
      const running = { ...recipient, listener, sockets };
      this.#accounts.set(settings.id, running);
    }
  }

  /** The answers that a `stall` fault has paused. */
  get paused(): PausedAnswers {
    return this.#exchanges.paused;
  }

  /** The base URL of an account, without trailing slash. */
  urlOf(account: string): string {
    const { listener, account: simulated } = this.#running(account);
    return simulated.api ? listener.url + API_PREFIX : listener.url;
  }

  /** @throws Error for an account without a token endpoint */
  loginOf(account: string): SimulatedLogin {
    const { login } = this.#running(account).account;
    if (login === undefined) throw new Error(`the rehearsal account ${account} has no login`);
    return login;
  }

  /** @throws Error if the account has no authorization server */
  authorizationOf(account: string): Authorization {
    const { authorization } = this.#running(account).account;
    if (authorization === undefined) throw new Error(`the rehearsal account ${account} has no authorization server`);
    return authorization;
  }

  /** The number of open websockets of the account. */
  socketsOf(account: string): number {
    return this.#running(account).sockets.count;
  }

  /** Closes the account's websockets without a running turn. @returns how many */
  closeSockets(account: string, code: number): number {
    return this.#running(account).sockets.closeIdle(code);
  }

  /** Ends the account's connections and refuses new ones. */
  disconnect(account: string): Promise<void> {
    return this.#running(account).listener.close();
  }

  /** Accepts connections again, at the same address. */
  reconnect(account: string): Promise<void> {
    return this.#running(account).listener.open();
  }

  /** Opens every listener, and closes those of unreachable accounts, which then have an address that refuses connections. */
  async open(): Promise<void> {
    const all = [...this.#accounts.values()];
    await Promise.all(all.map(({ listener }) => listener.open()));
    await Promise.all(all.map(({ account, listener }) => account.settings.profile?.unreachable && listener.close()));
  }

  /** Ends all connections and refuses new ones. */
  async close(): Promise<void> {
    await Promise.all([...this.#accounts.values()].map(({ listener }) => listener.close()));
  }

  #running(account: string): RunningAccount {
    const running = this.#accounts.get(account);
    if (running === undefined) throw new Error(`no rehearsal account ${account}`);
    return running;
  }

  async #serve(running: RunningAccount, message: IncomingMessage, response: ServerResponse): Promise<void> {
    const connection = new AbortController();
    let unfinished: RequestEnd = 'left';
    const closed = new Promise<RequestEnd>((resolve) => {
      response.once('close', () => {
        // With a reason, because the error that it would make otherwise has a stack trace.
        connection.abort('the connection ended');
        resolve(response.writableFinished ? 'answered' : running.listener.isOpen ? unfinished : 'cut');
      });
    });
    // An error of a socket that the client closed needs no handling, because `close` follows it.
    response.on('error', () => undefined);

    const { body, isComplete } = await receivedBody(message);
    const { method = '', url = '', headers, rawHeaders } = message;
    const arrived = { method, url, headers, rawHeaders, body, isComplete, connection: 0, isUpgrade: false, closed };
    const request = this.#exchanges.receive(running, arrived);
    if (!isComplete) return;
    const { answer, faults } = await this.#exchanges.answer(running, request);
    const onCut = (): void => {
      unfinished = 'cut';
    };
    const line = new HttpLine(response, answer, { closed: connection.signal, onCut });
    await deliver(stepsOf(answer, faults), line, this.#exchanges.delivery(running, connection.signal));
  }
}

/** Starts a provider in this process. When the promise resolves, it listens on loopback. */
export async function startProvider(options: ProviderOptions): Promise<Provider> {
  const provider = new Provider(options);
  await provider.open();
  return provider;
}
