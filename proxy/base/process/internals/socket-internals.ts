// What Node does not document of sockets and servers: timers, written bytes, and connections before they are parsed.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { type TLSSocket, Server as TlsServer } from 'node:tls';

/**
 * Disables the timer that Node sets on the socket after every answer and clears before the next request. It costs about 5 % of a JSON turn.
 * A sweep closes idle client connections instead.
 */
export function disableSocketTimeout(socket: Socket): void {
  socket.setTimeout = ignoreTimeout;
}

/** One function for all sockets, because a closure for each would need memory as long as it is connected. */
function ignoreTimeout(this: Socket): Socket {
  return this;
}

interface WriteQueue {
  readonly writeQueueSize: number;
}

/**
 * The bytes of the current write that the system has not taken, which show the progress of a large write. A handle with TLS counts such a
 * write only as a whole, so that the handle below it is asked.
 */
export function unsentBytes(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { readonly _handle?: (WriteQueue & { readonly _parent?: WriteQueue }) | null };
  return (handle?._parent ?? handle)?.writeQueueSize ?? 0;
}

/**
 * Takes over new connections of a server before Node's parser gets them.
 * @returns a function that passes a connection to the parser; bytes that were put back are parsed first
 */
export function takeOverConnections(server: Server, opened: (socket: Socket) => void): (socket: Socket) => void {
  // With TLS, the other event belongs to the library.
  const event = server instanceof TlsServer ? 'secureConnection' : 'connection';
  const [parse] = server.listeners(event);
  if (parse) server.off(event, parse as () => void).on(event, opened);
  return (socket) => parse?.call(server, socket);
}

/** Whether the TLS handshake of a client socket has not finished. Node's types lack the field. */
export const isHandshaking = (socket: Socket & { readonly secureConnecting?: boolean }): boolean => socket.secureConnecting === true;

/** The connection below a server's TLS socket. Node's types lack the field. */
export const connectionBelow = (socket: TLSSocket & { readonly _parent?: Socket }): Socket | undefined => socket._parent;
