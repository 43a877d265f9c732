// The rehearsal provider: an HTTP server that simulates the accounts of an upstream provider, and their failures.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Clock, systemClock } from '../clock.ts';
import type { WireWords } from '../turn/settings.ts';
import { AccountListener } from './account-listener.ts';
import { deliver } from './delivery.ts';
import { stepsOf } from './delivery-steps.ts';
import { type Endpoints, endpointsOf } from './endpoints.ts';
import { answerWithFaults, type FaultSource } from './fault-injection.ts';
import { IdSequence } from './id-sequence.ts';
import type { Login } from './login.ts';
import { PausedAnswers } from './paused-answers.ts';
import { parseJson, type ReceivedRequest, type RequestEnd, readBody } from './received-request.ts';
import { catalogOf, type SampleCatalog, sampleModels } from './sample-models.ts';
import { type RehearsalAccount, SimulatedAccount } from './simulated-account.ts';

export const neutralWords: WireWords = { agent: 'agent', meter: 'meter', lite_marker: 'x-internal-agent-responses-lite' };

export interface ProviderOptions {
  readonly accounts: readonly RehearsalAccount[];
  /** Default: the neutral words. */
  readonly wire?: WireWords;
  readonly faultSource?: FaultSource;
  /** Called with every request before it is answered. */
  readonly observe?: (request: ReceivedRequest) => void;
  readonly clock?: Clock;
  /** Part of every id; needed where ids outlive the run. Default: none. */
  readonly seed?: string;
}

interface RunningAccount {
  readonly account: SimulatedAccount;
  readonly catalog: SampleCatalog;
  readonly listener: AccountListener;
}

export class Provider {
  /** Answers that a `stall` fault has paused. */
  readonly paused = new PausedAnswers();
  readonly #options: ProviderOptions;
  readonly #wire: WireWords;
  readonly #endpoints: Endpoints;
  readonly #clock: Clock;
  readonly #ids: IdSequence;
  readonly #accounts = new Map<string, RunningAccount>();
  #received = 0;

  /** Use `startProvider`. */
  constructor(options: ProviderOptions) {
    this.#options = options;
    this.#wire = options.wire ?? neutralWords;
    this.#endpoints = endpointsOf(this.#wire);
    this.#clock = options.clock ?? systemClock;
    this.#ids = new IdSequence(options.seed ?? '');
    for (const settings of options.accounts) {
      const listener = new AccountListener((request, response) => void this.#serve(running, request, response));
      const running: RunningAccount = {
        account: new SimulatedAccount(settings),
        catalog: catalogOf(settings.models ?? sampleModels),
        listener,
      };
      this.#accounts.set(settings.id, running);
    }
  }

  /** The base URL of an account, without trailing slash. */
  urlOf(account: string): string {
    return this.#running(account).listener.url;
  }

  /** @throws Error for an account without a token endpoint */
  loginOf(account: string): Login {
    const { login } = this.#running(account).account;
    if (login === undefined) throw new Error(`the rehearsal account ${account} has no login`);
    return login;
  }

  /** Ends the account's connections and refuses new ones. */
  disconnect(account: string): Promise<void> {
    return this.#running(account).listener.close();
  }

  /** Accepts connections again, at the same address. */
  reconnect(account: string): Promise<void> {
    return this.#running(account).listener.open();
  }

  /** Opens every listener, and closes those of unreachable accounts: they have an address that refuses connections. */
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
        connection.abort();
        resolve(response.writableFinished ? 'answered' : running.listener.isOpen ? unfinished : 'cut');
      });
    });
    // An error of a socket that the client closed adds nothing to its `close` event.
    response.on('error', () => undefined);

    const { body, isComplete } = await readBody(message);
    const request = this.#receive(running, message, { body, isComplete, closed });
    this.#options.observe?.(request);
    if (!isComplete) return;
    const { account, catalog } = running;
    const context = { request, account, catalog, wire: this.#wire, ids: this.#ids, now: this.#clock.now() };
    const { answer, faults } = await answerWithFaults(context, this.#endpoints, this.#options.faultSource);
    await deliver(answer, stepsOf(answer, faults), {
      response,
      clock: this.#clock,
      paused: this.paused,
      account: account.id,
      closed: connection.signal,
      onCut: () => {
        unfinished = 'cut';
      },
    });
  }

  #receive(
    { account }: RunningAccount,
    message: IncomingMessage,
    rest: Pick<ReceivedRequest, 'body' | 'isComplete' | 'closed'>,
  ): ReceivedRequest {
    const [path = '', query = ''] = (message.url ?? '').split('?', 2);
    const { method = '', headers, rawHeaders } = message;
    const isTurn = this.#endpoints.get(`${method} ${path}`)?.isTurn === true;
    this.#received += 1;
    if (isTurn) account.turns += 1;
    return {
      account: account.id,
      number: this.#received,
      turn: isTurn ? account.turns : 0,
      method,
      path,
      query,
      headers,
      rawHeaders,
      json: parseJson(rest.body),
      ...rest,
    };
  }
}

/** Starts a provider in this process; it listens on loopback once the promise resolves. */
export async function startProvider(options: ProviderOptions): Promise<Provider> {
  const provider = new Provider(options);
  await provider.open();
  return provider;
}
