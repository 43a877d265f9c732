// What all exchanges of a provider share, over HTTP and on websockets: request numbers, observation, answers and the clock.
import { type Clock, systemClock } from '../base/time/clock.ts';
import { type Json, parsedJson } from '../turn/json/json.ts';
import type { WireWords } from '../turn/settings.ts';
import type { SimulatedAccount } from './account/simulated-account.ts';
import type { DeliveryContext } from './delivery/delivery.ts';
import { type Endpoints, endpointKey } from './endpoint-table.ts';
import { answerWithFaults, type FaultSource, type FaultyAnswer } from './faults/fault-injection.ts';
import { PausedAnswers } from './faults/paused-answers.ts';
import { IdSequence } from './model/id-sequence.ts';
import type { SampleCatalog } from './model/sample-models.ts';
import type { Anchors } from './model/turn-request.ts';
import type { ReceivedRequest } from './received-request.ts';

export const neutralWords: WireWords = {
  agent: 'agent',
  meter: 'meter',
  lite_marker: 'x-internal-agent-responses-lite',
  client_version: '0.0.0',
};

export interface ExchangeOptions {
  /** Default: the neutral words. */
  readonly wire?: WireWords;
  readonly faultSource?: FaultSource;
  /** Called with every request before it is answered. */
  readonly observe?: (request: ReceivedRequest) => void;
  readonly clock?: Clock;
  /** A part of every id, which is needed if ids outlive the run. Default: none. */
  readonly seed?: string;
}

/** The account of a request, with its endpoints. */
export interface Recipient {
  readonly account: SimulatedAccount;
  readonly endpoints: Endpoints;
  readonly catalog: SampleCatalog;
}

/** A request as its carrier read it. */
export interface ArrivedRequest extends Omit<ReceivedRequest, 'account' | 'number' | 'turn' | 'path' | 'query' | 'json'> {
  readonly url: string;
  /** Default: the value of its endpoint. */
  readonly isTurn?: boolean;
}

export class Exchanges {
  /** Answers that a `stall` fault has paused. */
  readonly paused = new PausedAnswers();
  readonly #options: ExchangeOptions;
  readonly wire: WireWords;
  readonly clock: Clock;
  readonly ids: IdSequence;
  #received = 0;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.wire = options.wire ?? neutralWords;
    this.clock = options.clock ?? systemClock;
    this.ids = new IdSequence(options.seed ?? '');
  }

  /** Whether a path of the account takes websockets. */
  upgrades({ endpoints }: Recipient, url: string): boolean {
    const [path = ''] = url.split('?', 1);
    return endpoints.get(endpointKey({ method: 'GET', path, isUpgrade: true })) !== undefined;
  }

  /** Numbers the request and passes it to the observer. */
  receive({ account, endpoints }: Recipient, { url, isTurn, ...arrived }: ArrivedRequest): ReceivedRequest {
    const [path = '', query = ''] = url.split('?', 2);
    const json = parsedJson(arrived.body.toString()) as Json | undefined;
    const counts = isTurn ?? endpoints.get(endpointKey({ ...arrived, path }))?.isTurn === true;
    this.#received += 1;
    if (counts) account.turns += 1;
    const request = { ...arrived, account: account.id, number: this.#received, turn: counts ? account.turns : 0, path, query, json };
    this.#options.observe?.(request);
    return request;
  }

  /** @param anchors the responses of the websocket on which a frame came */
  answer({ account, catalog, endpoints }: Recipient, request: ReceivedRequest, anchors?: Anchors): Promise<FaultyAnswer> {
    const parts = { request, account, catalog, wire: this.wire, ids: this.ids, now: this.clock.now() };
    const context = anchors === undefined ? parts : { ...parts, anchors };
    return answerWithFaults(context, endpoints, this.#options.faultSource);
  }

  delivery({ account }: Recipient, closed: AbortSignal): DeliveryContext {
    return { clock: this.clock, paused: this.paused, account: account.id, closed };
  }
}
