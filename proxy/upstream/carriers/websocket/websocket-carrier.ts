// Carries turns over websockets to one account. The turns of a client's connection reuse its open socket (Q28).
import type { Batches } from '../../../base/process/batch.ts';
import type { Heartbeat } from '../../../base/process/heartbeat.ts';
import type { EgressRoute } from '../../egress/route.ts';
import {
  type ByteReader,
  type CarrierRequest,
  type EventReader,
  type ReplyHandler,
  requestTarget,
  type Sending,
  type Waits,
  waitsOf,
} from '../carrier.ts';
import type { SocketSlot } from './socket-slot.ts';
import { UpstreamSocket } from './upstream-socket.ts';
import { WebsocketExchange } from './websocket-exchange.ts';

export interface WebsocketCarrierOptions {
  readonly account: string;
  readonly baseUrl: string;
  /** Parameters of every request, encoded. */
  readonly query: string;
  /** The header of an upgrade that carries the account's credential. */
  readonly credentialHeader: string;
  readonly connectMs: number;
  readonly firstByteMs: number;
  readonly idleMs: number;
  /** Undefined for direct connections. */
  readonly route?: EgressRoute | undefined;
  readonly heartbeat: Heartbeat;
  readonly batches: Batches;
}

/** The limits for the frames of a reply. */
export interface FrameLimits {
  /** A larger frame ends the connection. */
  readonly maxFrameBytes: number;
  /** Counts the bytes of a frame that has not arrived completely. */
  readonly memory: EventReader['memory'];
}

export class WebsocketCarrier {
  readonly #options: WebsocketCarrierOptions;
  readonly #waits: Waits;
  readonly #sockets = new Set<UpstreamSocket>();
  #retired: (() => void) | undefined;

  constructor(options: WebsocketCarrierOptions) {
    this.#options = options;
    this.#waits = waitsOf(options);
  }

  /** Whether the client's connection has an open socket to this account. */
  isOpen(slot: SocketSlot): boolean {
    const live = slot.at(this.#options.account);
    return live !== undefined && this.#sockets.has(live);
  }

  /**
   * Sends a turn. The frame of a further response that a steer has begun is not sent, because the account has it already.
   * @param request its body is the frame; its headers are those of the upgrade, if a connection has to be opened
   */
  send(request: CarrierRequest, limits: FrameLimits, slot: SocketSlot, handler: ReplyHandler<EventReader | ByteReader>): Sending {
    const live = slot.at(this.#options.account);
    const socket = live && this.#sockets.has(live) ? live : this.#open(request, limits.maxFrameBytes, slot);
    return new WebsocketExchange(socket, request.body as Buffer, handler, { waits: this.#waits, memory: limits.memory });
  }

  /** Ends idle connections immediately, and the others after their exchange. */
  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.retire();
    if (this.#sockets.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#retired = resolve;
    });
  }

  destroy(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #open({ path, headers }: CarrierRequest, maxFrameBytes: number, slot: SocketSlot): UpstreamSocket {
    const { account, baseUrl, query, connectMs, route, heartbeat, batches } = this.#options;
    const url = baseUrl + requestTarget(path, query);
    const authorization = headers[this.#options.credentialHeader];
    const socket = new UpstreamSocket({ url, headers, authorization, connectMs, route, maxFrameBytes, heartbeat, batches });
    this.#sockets.add(socket);
    socket.onClose(() => {
      this.#sockets.delete(socket);
      if (this.#sockets.size === 0) this.#retired?.();
    });
    slot.replace(account, socket);
    return socket;
  }
}
