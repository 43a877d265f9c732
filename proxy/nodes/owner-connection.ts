// A connection to the node that owns a session. It asks that node to take over a client, and then sends it the client's frames.
import { WebSocket } from 'ws';
import type { Heartbeat } from '../base/process/heartbeat.ts';
import type { Log } from '../base/process/log.ts';
import type { Counters } from '../base/process/metrics.ts';
import { type Clock, LATE, withDeadline } from '../base/time/clock.ts';
import { encodeClient, type ForwardedClient } from './forwarded-client.ts';
import { hopPath } from './hop-listener.ts';
import { HOP_HEADER, type HopSignature, isEqual } from './hop-signature.ts';

export interface OwnerConnectionsOptions {
  /** The id of this node. */
  readonly node: string;
  readonly signature: HopSignature;
  readonly clock: Clock;
  readonly counters: Counters;
  readonly heartbeat: Heartbeat;
  readonly log: Log;
  /** The largest accepted frame from the owner. A larger one ends the connection. */
  readonly maxFrameBytes: () => number;
}

/** A process with turns that clients may come back for. */
export interface Owner {
  readonly owner: string;
  /** The URL of its internal listener. */
  readonly address: string;
}

/** The longest wait for an answer. An owner that takes longer is treated as dead (Q34). */
const ANSWER_MS = 2_000;

/** The status of an owner that has another secret or whose clock differs. */
const UNSIGNED = 401;

export class OwnerConnections {
  readonly #options: OwnerConnectionsOptions;

  constructor(options: OwnerConnectionsOptions) {
    this.#options = options;
  }

  /**
   * The open connection to an owner that takes over the client. Undefined if the owner is dead, does not answer in time, or has no turn for
   * the client.
   */
  async open(owner: Owner, client: ForwardedClient): Promise<WebSocket | undefined> {
    const { clock, counters, heartbeat } = this.#options;
    const late = new AbortController();
    const opened = await withDeadline(this.#open(owner, client, late.signal), clock, ANSWER_MS);
    if (opened === LATE) {
      late.abort();
      counters.add('owners_silent');
      return undefined;
    }
    if (opened) heartbeat.watch(opened);
    return opened;
  }

  async #open({ owner, address }: Owner, client: ForwardedClient, late: AbortSignal): Promise<WebSocket | undefined> {
    const { log, maxFrameBytes, node, signature } = this.#options;
    const path = hopPath(owner);
    const { headers, answer } = signature.sign({ method: 'GET', path, client: encodeClient(client), node });
    const ws = new WebSocket(address.replace(/^http/, 'ws') + path, { headers, maxPayload: maxFrameBytes(), perMessageDeflate: false });
    late.addEventListener('abort', () => ws.terminate());
    let isOwner = false;
    ws.once('upgrade', ({ headers: answered }) => {
      // Frames contain a client's prompts. They are sent only to a node that has the secret, and not to another process that now has the
      // address.
      isOwner = isEqual(String(answered[HOP_HEADER.signature] ?? ''), answer);
    });
    ws.once('unexpected-response', (_request, { statusCode }) => {
      if (statusCode === UNSIGNED)
        log.warn('owner_refused', { owner, hint: 'node.secret must be the same on all nodes, and their clocks too' });
      ws.terminate();
    });
    // `close` follows every error.
    ws.on('error', () => undefined);
    await new Promise<void>((resolve) => ws.once('open', resolve).once('close', resolve));
    if (isOwner && ws.readyState === WebSocket.OPEN) return ws;
    ws.terminate();
    return undefined;
  }
}
