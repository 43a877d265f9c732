// Carries turns over HTTP with undici: one pool per account origin, without a limit on connections.
import type { Dispatcher } from 'undici';
import { type Batch, Batches } from '../../base/process/batch.ts';
import { passContinue } from '../../base/process/internals/undici-internals.ts';
import type { EgressRoute } from '../egress/route.ts';
import { Pool } from '../undici-parts.ts';
import {
  type ByteReader,
  type CarrierRequest,
  type EventReader,
  type ReplyHandler,
  requestTarget,
  type Sending,
  type TurnCarrier,
  type Waits,
  waitsOf,
} from './carrier.ts';
import { UndiciExchange } from './undici-exchange.ts';

export interface UndiciTimeouts {
  readonly connectMs: number;
  readonly firstByteMs: number;
  /** The longest silence inside a reply. Time during which the reader is paused does not count. */
  readonly idleMs: number;
}

export class UndiciCarrier implements TurnCarrier {
  readonly #pool: Pool;
  readonly #base: string;
  readonly #query: string;
  readonly #waits: Waits;
  readonly #arrivals: Batch;

  /**
   * @param batches the batches of all accounts
   * @param route undefined for direct connections
   * @param query the parameters of every request, encoded
   */
  constructor(baseUrl: string, timeouts: UndiciTimeouts, { arrivals } = new Batches(), route?: EgressRoute, query = '') {
    const { origin, pathname } = new URL(baseUrl);
    this.#base = pathname.replace(/\/$/, '');
    this.#query = query;
    this.#waits = waitsOf(timeouts);
    this.#arrivals = arrivals;
    // The gateway's admission limits the turns. A fixed number of connections would queue streams silently. undici's timeouts are disabled
    // too, because they take a slow reader for a silent provider and cost every turn a timer.
    this.#pool = new Pool(origin, {
      connections: null,
      pipelining: 1,
      bodyTimeout: 0,
      headersTimeout: 0,
      // Each running turn has a connection. With HTTP/2 all turns of an account would share one, and its loss would end all of them.
      allowH2: false,
      connect: route?.undici(timeouts.connectMs) ?? { timeout: timeouts.connectMs },
    });
    passContinue(this.#pool);
  }

  send(request: CarrierRequest, handler: ReplyHandler<EventReader | ByteReader>): Sending {
    const exchange = new UndiciExchange(handler, this.#waits, this.#arrivals);
    const target = this.#query === '' ? request.path : requestTarget(request.path, this.#query);
    this.#pool.dispatch(
      {
        method: request.method as Dispatcher.HttpMethod,
        path: (request.from === 'origin' ? '' : this.#base) + target,
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
