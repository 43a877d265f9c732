// A tunnel through a proxy: the proxy opens the connection to a host, and resolves its name.
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, isIP, type Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import type { ProxyServer } from '../../config/config.ts';

export interface TunnelTarget {
  /** A name or an address, without brackets. */
  readonly host: string;
  readonly port: number;
}

/**
 * @param signal aborts the attempt; its reason becomes the error
 * @param context the TLS settings of the connection to an https proxy
 * @throws Error if the proxy cannot be reached, or opens no connection
 */
export function openTunnel(proxy: ProxyServer, to: TunnelTarget, signal: AbortSignal, context?: SecureContext): Promise<Socket> {
  return proxy.protocol === 'socks5:' ? socksTunnel(proxy, to, signal) : httpTunnel(proxy, to, signal, context);
}

function httpTunnel(
  { protocol, host, port, credential }: ProxyServer,
  to: TunnelTarget,
  signal: AbortSignal,
  secureContext: SecureContext | undefined,
): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const authority = `${isIP(to.host) === 6 ? `[${to.host}]` : to.host}:${to.port}`;
  const basic = credential && Buffer.from(`${credential.user}:${credential.password}`).toString('base64');
  const isSecure = protocol === 'https:';
  const request = (isSecure ? httpsRequest : httpRequest)({
    host,
    port,
    method: 'CONNECT',
    path: authority,
    headers: {
      host: authority,
      // Without this header Node would ask the proxy to close the connection.
      connection: 'keep-alive',
      'proxy-connection': 'keep-alive',
      ...(basic !== undefined && { 'proxy-authorization': `Basic ${basic}` }),
    },
    agent: false,
    ...(isSecure && { servername: isIP(host) === 0 ? host : '', ...(secureContext && { secureContext }) }),
  });
  const abort = (): void => void request.destroy(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  // This event reports every answer to CONNECT, also a refusal.
  request.once('connect', ({ statusCode = 0 }, socket: Socket, head) => {
    if (statusCode >= 200 && statusCode < 300) {
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
      return;
    }
    socket.on('error', () => undefined).destroy();
    reject(new Error(`the proxy answered ${statusCode}`));
  });
  request.once('error', reject);
  request.end();
  if (signal.aborted) abort();
  return promise.finally(() => signal.removeEventListener('abort', abort));
}

/** The library's own timeout. It is longer than any deadline of a connection, because the signal ends the attempt. */
const SOCKS_MS = 600_000;

async function socksTunnel({ host, port, credential }: ProxyServer, to: TunnelTarget, signal: AbortSignal): Promise<Socket> {
  // Loaded with the first such proxy, so that it does not delay the start.
  const { SocksClient } = await import('socks');
  const socket = connect({ host, port, noDelay: true });
  const abort = (): void => void socket.destroy(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  socket.on('error', () => undefined);
  try {
    signal.throwIfAborted();
    await once(socket, 'connect', { signal });
    await SocksClient.createConnection({
      command: 'connect',
      proxy: { host, port, type: 5, ...(credential && { userId: credential.user, password: credential.password }) },
      destination: to,
      existing_socket: socket,
      timeout: SOCKS_MS,
    });
    return socket;
  } catch (thrown) {
    socket.destroy();
    throw signal.aborted ? signal.reason : thrown;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
