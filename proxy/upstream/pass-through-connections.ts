// The keep-alive connections of pass-through rows to one account: how long they may lie idle, and how they end.
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Socket } from 'node:net';

/** Shorter than servers keep an idle connection: a POST on one that has just been closed would be lost. */
const IDLE_MS = 4_000;

export class PassConnections {
  readonly agent: HttpAgent | HttpsAgent;

  constructor(baseUrl: string) {
    // With a limit of ours the agent heeds the server's own `Keep-Alive: timeout=` as well, where that is shorter.
    const kept = { keepAlive: true, timeout: IDLE_MS };
    this.agent = baseUrl.startsWith('https:') ? new HttpsAgent(kept) : new HttpAgent(kept);
  }

  dropIdle(): void {
    for (const sockets of Object.values(this.agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
  }

  /** Idle connections end now, those in use with their exchanges. The agent's own `destroy` would end both. */
  retire(): void {
    this.agent.maxFreeSockets = 0;
    this.dropIdle();
  }
}

/** The library's own limit ends with the TCP connection: a server that never finishes the TLS handshake would hold us for long. */
export function boundHandshake(socket: Socket & { readonly secureConnecting?: boolean }, ms: number): void {
  if (!socket.secureConnecting) return;
  const late = (): void => void socket.destroy(Object.assign(new Error('no TLS handshake in time'), { code: 'ECONNECT_TIMEOUT' }));
  const timer = setTimeout(late, ms);
  const done = (): void => {
    clearTimeout(timer);
    socket.off('secureConnect', done).off('close', done);
  };
  socket.once('secureConnect', done).once('close', done);
}
