// The keep-alive connections of pass-through rows to one account: how long they stay idle, and how they are closed.
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Socket } from 'node:net';
import { isHandshaking } from '../../base/process/node-internals.ts';
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
