// Bytes that do not become a turn, because no request can be read from them. They are refused on their socket.
import type { Socket } from 'node:net';
import type { Batches } from '../base/process/batch.ts';
import type { Counters } from '../base/process/metrics.ts';
import { BODY_MALFORMED } from '../clients/http/bodies/body-arrival.ts';
import { clientAddress } from '../clients/http/connections/client-address.ts';
import { connectionOf } from '../clients/http/connections/client-connection.ts';
import { endRaw, HEADERS_LATE, refusalOfBytes } from '../clients/http/connections/raw-refusal.ts';
import type { Refusal } from '../turn/errors/refusal.ts';
import { LiveTurn } from '../turn/live-turn.ts';
import { requestId } from '../turn/request-id.ts';
import { NO_ROUTE } from '../turn/routes/route-table.ts';
import type { TurnHost } from '../turn/turn-host.ts';
import type { Generation } from './generation.ts';
import type { TurnRunner } from './turn-runner.ts';

export interface UnreadRequestsOptions {
  readonly current: { readonly generation: Generation };
  readonly host: TurnHost;
  readonly runner: TurnRunner;
  readonly counters: Counters;
  readonly batches: Batches;
}

/** The request for bytes that could not be read. Its method and path are unknown. */
const UNREAD = { route: NO_ROUTE, params: {}, client: 'http', method: '-', path: '', headers: {}, query: '' } as const;

export class UnreadRequests {
  readonly #options: UnreadRequestsOptions;

  constructor(options: UnreadRequestsOptions) {
    this.#options = options;
  }

  /** Refuses bytes that Node's parser could not read. */
  refuseUnparsed(error: NodeJS.ErrnoException, socket: Socket): void {
    // The request that the bytes belong to may wait in the batch.
    this.#options.batches.arrivals.flush();
    const connection = connectionOf(socket);
    if (connection.framingBroken) return;
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const { counter, refusal } = refusalOfBytes(error);
    this.#options.counters.add(counter);
    // Bytes after the last request of a connection are ignored. The last request is still answered (RFC 9112, 9.6).
    if (error.code === 'HPE_CLOSED_CONNECTION') connection.framingBroken = true;
    else this.refuse(socket, refusal);
  }

  /** Refuses bytes, and writes their row. Inside the body of a request, the request's turn has the row. */
  refuse(socket: Socket, refusal: Refusal): void {
    const { current, host, runner } = this.#options;
    const connection = connectionOf(socket);
    const { latest } = connection;
    if (!latest || latest.writableFinished) {
      const { generation } = current;
      const address = generation.asksAddress ? clientAddress(connection, undefined, generation.proxies) : undefined;
      const turn = new LiveTurn({ ...UNREAD, address, keyOf: () => undefined }, generation, host);
      runner.recordRefused(turn, refusal);
      this.refuseBytes(socket, refusal, turn.id);
    } else if (refusal === HEADERS_LATE && latest.req.complete) {
      // A late head must not cut earlier answers, so that they end first.
      connection.framingBroken = true;
      latest.once('finish', () => this.refuse(socket, refusal));
    } else this.refuseBytes(socket, refusal, requestId(host.services.clock.now()));
  }

  /** Answers bytes that are not a request, if an answer is possible, and ends the connection. */
  refuseBytes(socket: Socket, refusal: Refusal, id = requestId(this.#options.host.services.clock.now())): void {
    const connection = connectionOf(socket);
    connection.framingBroken = true;
    const { latest } = connection;
    if (!latest || latest.writableFinished) endRaw(socket, refusal, id);
    // Inside a body, the reader of the body sends the refusal, unless the request was answered without reading it. After a complete request
    // no refusal is written, because the client would take it for the answer to that request.
    else if (latest.req.complete || !(latest.req.emit(BODY_MALFORMED) || latest.headersSent)) socket.destroy();
  }
}
