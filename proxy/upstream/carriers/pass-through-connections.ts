// The keep-alive connections of pass-through rows to one account: how long they stay idle, how they are closed, and the body that waits
// until its connection is established.
import { type ClientRequest, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Socket } from 'node:net';
import { type Readable, Stream } from 'node:stream';
import { isHandshaking } from '../../base/process/internals/socket-internals.ts';
import type { EgressRoute } from '../egress/route.ts';

/** Shorter than the idle timeouts of servers, because a POST on a connection that the server has just closed would be lost. */
const IDLE_MS = 4_000;

export class PassThroughConnections {
  readonly agent: HttpAgent | HttpsAgent;

  constructor(baseUrl: string, connectMs: number, route: EgressRoute | undefined) {
    // With a timeout the agent also respects the server's own `Keep-Alive: timeout=` if that is shorter.
    const options = { keepAlive: true, timeout: IDLE_MS };
    if (route) this.agent = route.agent(options, connectMs);
    else this.agent = baseUrl.startsWith('https:') ? new HttpsAgent(options) : new HttpAgent(options);
  }

  dropIdle(): void {
    for (const sockets of Object.values(this.agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
  }

  /** Ends idle connections now, and the others with their exchanges. The agent's own `destroy` would end both. */
  retire(): void {
    this.agent.maxFreeSockets = 0;
    this.dropIdle();
  }
}

/**
 * Limits the TLS handshake, because the library's connect timeout ends with the TCP handshake, and a server that never finishes TLS would
 * block the turn.
 */
export function limitHandshake(socket: Socket, ms: number): void {
  if (!isHandshaking(socket)) return;
  const late = (): void => void socket.destroy(Object.assign(new Error('no TLS handshake in time'), { code: 'ECONNECT_TIMEOUT' }));
  const timer = setTimeout(late, ms);
  const done = (): void => {
    clearTimeout(timer);
    socket.off('secureConnect', done).off('close', done);
  };
  socket.once('secureConnect', done).once('close', done);
}

/**
 * A body that is read only when its connection is established. If no connection is made, a body that can be sent only once is still
 * complete. http-proxy-3 pipes its `buffer` into the request as soon as the request exists.
 */
export class UntilConnected extends Stream {
  readonly #body: Readable;

  constructor(body: Readable) {
    super();
    this.#body = body;
  }

  override pipe<Destination extends NodeJS.WritableStream>(request: Destination): Destination {
    const begin = (): void => void this.#body.pipe(request);
    (request as unknown as ClientRequest).once('socket', (socket) => {
      if (socket.connecting) socket.once(isHandshaking(socket) ? 'secureConnect' : 'connect', begin);
      else if (isHandshaking(socket)) socket.once('secureConnect', begin);
      else begin();
    });
    return request;
  }
}
