// The address of a client: that of its connection, or the one that the operator's proxies in front of the gateway state.
import type { IncomingHttpHeaders } from 'node:http';
import { type Networks, plainAddress, UNIX } from '../../../base/process/networks.ts';
import type { ClientConnection } from './client-connection.ts';

/**
 * @param forwarded X-Forwarded-For, to which each proxy has added the address that its request came from
 * @param proxies the operator's proxies; any other peer is not believed
 * @returns undefined if the address is unknown, because the connection has ended or a proxy states none
 */
export function clientAddress(
  { socket, isUnix }: Pick<ClientConnection, 'socket' | 'isUnix'>,
  forwarded: string | undefined,
  proxies: Networks,
): string | undefined {
  let address = isUnix ? UNIX : plainAddress(socket.remoteAddress ?? '');
  if (forwarded === undefined || !proxies.has(address)) return address;
  // From the right, because the last entry that is not a proxy is the client, and entries before it may be the client's own text.
  for (const entry of forwarded.split(',').reverse()) {
    address = plainAddress(withoutPort(entry.trim()));
    if (!proxies.has(address)) return address;
  }
  return address;
}

/** Node joins repeated headers of this name, but its types do not state that. */
export const forwardedFor = ({ 'x-forwarded-for': value }: IncomingHttpHeaders): string | undefined =>
  Array.isArray(value) ? value.join(',') : value;

/** The address without the port that some proxies add. */
const withoutPort = (entry: string): string => entry.replace(/^\[([^\]]*)\](?::\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1');
