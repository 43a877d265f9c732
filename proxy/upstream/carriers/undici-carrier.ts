// Carries turns over HTTP with undici: one pool per account origin, without a limit on connections.
import type { Dispatcher } from 'undici';
import { type Batch, Batches } from '../../base/process/batch.ts';
import { passContinue } from '../../base/process/node-internals.ts';
import type { EgressRoute } from '../egress/route.ts';
import { Pool } from '../undici-parts.ts';
import type { ByteReader, CarrierRequest, EventReader, ReplyHandler, Sending, TurnCarrier } from './carrier.ts';
import { type Waits, waitsOf } from './idle-timeouts.ts';
import { requestTarget } from './request-target.ts';
import { UndiciExchange } from './undici-exchange.ts';

export interface UndiciTimeouts {
  readonly connectMs: number;
  readonly firstByteMs: number;
  /** Longest silence inside a reply; the time while the reader is paused does not count. */
  readonly idleMs: number;
}

export class UndiciCarrier implements TurnCarrier {
  readonly #pool: Pool;
  readonly #base: string;
  readonly #query: string;
  readonly #waits: Waits;
  readonly #arrivals: Batch;

  /**
   * @param batches of all accounts
   * @param route undefined for direct connections
   * @param query of every request, encoded
   */
  constructor(baseUrl: string, timeouts: UndiciTimeouts, { arrivals } = new Batches(), route?: EgressRoute, query = '') {
    const { origin, pathname } = new URL(baseUrl);
    this.#base = pathname.replace(/\/$/, '');
    this.#query = query;
    this.#waits = waitsOf(timeouts);
    this.#arrivals = arrivals;
    // A fixed number of connections would queue streams silently; admission is the gateway's. So are the timeouts: undici's count a
    // slow reader as a silent provider, and cost every turn a timer.
    this.#pool = new Pool(origin, {
      connections: null,
      pipelining: 1,
      bodyTimeout: 0,
      headersTimeout: 0,
      // A connection for each running turn: HTTP/2 would put all turns of an account on one, whose loss would end them together.
      allowH2: false,
      connect: route?.undici(timeouts.connectMs) ?? { timeout: timeouts.connectMs },
    });
    passContinue(this.#pool);
  }

  send(request: CarrierRequest, handler: ReplyHandler<EventReader | ByteReader>): Sending {
    const exchange = new UndiciExchange(handler, this.#waits, this.#arrivals);
    this.#pool.dispatch(
      {
        method: request.method as Dispatcher.HttpMethod,
        path: (request.from === 'origin' ? '' : this.#base) + requestTarget(request.path, this.#query),
        headers: request.headers,
        body: request.body,
      },
      exchange,
    );
    return exchange;
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  destroy(): Promise<void> {
    return this.#pool.destroy();
  }
}
