// The rehearsal provider: a real HTTP server that simulates the accounts of an upstream provider, and their failures.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { WireWords } from '../turn/settings.ts';
import { Account, type RehearsalAccount } from './account.ts';
import { type ArrivedRequest, parsedOf, readBody } from './arrived.ts';
import { type Catalog, catalogOf, rehearsalModels } from './catalog.ts';
import { type Clock, systemClock } from './clock.ts';
import { type Behaviour, decide } from './decide.ts';
import { type Handlers, handlersOf } from './handlers.ts';
import { Ids } from './ids.ts';
import { Line } from './line.ts';
import type { Login } from './login.ts';
import { type Closing, play } from './play.ts';
import { Stalls } from './stalls.ts';
import { stepsOf } from './steps.ts';

/** The neutral words. */
export const neutralWords: WireWords = { agent: 'agent', meter: 'meter', lite_marker: 'x-internal-agent-responses-lite' };

export interface ProviderOptions {
  readonly accounts: readonly RehearsalAccount[];
  /** Default: the neutral words. */
  readonly wire?: WireWords;
  /** Decides the faults of a request; undefined leaves it to the request's own script and then to the account's temperament. */
  readonly behaviour?: Behaviour;
  /** Sees every request as it arrives, before it is answered. */
  readonly observe?: (request: ArrivedRequest) => void;
  readonly clock?: Clock;
  /** Stands in every id; needed where ids outlive the run. Default: none. */
  readonly seed?: string;
}

interface Place {
  readonly account: Account;
  readonly catalog: Catalog;
  readonly line: Line;
}

export class Provider {
  /** Answers that stand still. */
  readonly stalls = new Stalls();
  private readonly options: ProviderOptions;
  private readonly wire: WireWords;
  private readonly handlers: Handlers;
  private readonly clock: Clock;
  private readonly ids: Ids;
  private readonly places = new Map<string, Place>();
  private arrivals = 0;

  /** Use `startProvider`. */
  constructor(options: ProviderOptions) {
    this.options = options;
    this.wire = options.wire ?? neutralWords;
    this.handlers = handlersOf(this.wire);
    this.clock = options.clock ?? systemClock;
    this.ids = new Ids(options.seed ?? '');
    for (const config of options.accounts) {
      const account = new Account(config);
      const line = new Line((request, response) => void this.serve(place, request, response));
      const place: Place = { account, catalog: catalogOf(config.models ?? rehearsalModels), line };
      this.places.set(config.id, place);
    }
  }

  /** The base URL of an account, without trailing slash. */
  urlOf(account: string): string {
    return this.place(account).line.url;
  }

  /** The login of an account that has a token endpoint. */
  loginOf(account: string): Login {
    const { login } = this.place(account).account;
    if (login === undefined) throw new Error(`the rehearsal account ${account} has no login`);
    return login;
  }

  /** Ends the account's connections and refuses new ones. */
  hangUp(account: string): Promise<void> {
    return this.place(account).line.close();
  }

  /** Takes connections again, at the same address. */
  pickUp(account: string): Promise<void> {
    return this.place(account).line.open();
  }

  /** Opens every line, and closes those of unreachable accounts, whose address is known all the same. */
  async open(): Promise<void> {
    await Promise.all([...this.places.values()].map(({ line }) => line.open()));
    await Promise.all([...this.places.values()].map(({ account, line }) => account.config.temperament?.unreachable && line.close()));
  }

  /** Ends every connection and stops. */
  async close(): Promise<void> {
    await Promise.all([...this.places.values()].map(({ line }) => line.close()));
  }

  private place(account: string): Place {
    const place = this.places.get(account);
    if (place === undefined) throw new Error(`no rehearsal account ${account}`);
    return place;
  }

  private async serve(place: Place, message: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    let ending: Closing = 'left';
    const closed = new Promise<Closing>((resolve) => {
      response.once('close', () => {
        gone.abort();
        resolve(response.writableFinished ? 'answered' : place.line.isOpen ? ending : 'cut');
      });
    });
    // Errors of a socket that the other side tore down say nothing that `close` does not say.
    response.on('error', () => undefined);

    const { body, isComplete } = await readBody(message);
    const request = this.arrive(place, message, { body, isComplete, closed });
    this.options.observe?.(request);
    if (!isComplete) return;
    const { clock, stalls, wire, ids, handlers } = this;
    const { account, catalog } = place;
    const { behaviour } = this.options;
    const { answer, faults } = await decide({ request, account, catalog, wire, ids, now: clock.now() }, handlers, behaviour);
    const cutting = (): void => {
      ending = 'cut';
    };
    await play(answer, stepsOf(answer, faults), { response, clock, stalls, account: account.id, gone: gone.signal, cutting });
  }

  private arrive(place: Place, message: IncomingMessage, rest: Pick<ArrivedRequest, 'body' | 'isComplete' | 'closed'>): ArrivedRequest {
    const [path = '', query = ''] = (message.url ?? '').split('?', 2);
    const method = message.method ?? '';
    const isTurn = this.handlers.get(`${method} ${path}`)?.isTurn === true;
    this.arrivals += 1;
    if (isTurn) place.account.turns += 1;
    const turn = isTurn ? place.account.turns : 0;
    const { headers, rawHeaders } = message;
    return {
      account: place.account.id,
      number: this.arrivals,
      turn,
      method,
      path,
      query,
      headers,
      rawHeaders,
      json: parsedOf(rest.body),
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
