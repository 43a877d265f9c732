// The address of a client: that of its connection, or what the operator's proxies in front of the gateway say.
import type { IncomingHttpHeaders } from 'node:http';
import { type Networks, plainAddress, UNIX } from '../../../base/process/networks.ts';
import type { ClientConnection } from './client-connection.ts';

/**
 * @param forwarded X-Forwarded-For, to which each proxy has added the address that its request came from
 * @param proxies the operator's; what any other peer says is not believed
 * @returns undefined where it is not known: the connection has ended, or a proxy of the operator names none
 */
export function clientAddress(
  { socket, isUnix }: Pick<ClientConnection, 'socket' | 'isUnix'>,
  forwarded: string | undefined,
  proxies: Networks,
): string | undefined {
  let address = isUnix ? UNIX : plainAddress(socket.remoteAddress ?? '');
  if (forwarded === undefined || !proxies.has(address)) return address;
  // From the right: the last entry that is not of a proxy is the client, and what it wrote itself stands before it.
  for (const entry of forwarded.split(',').reverse()) {
    address = plainAddress(withoutPort(entry.trim()));
    if (!proxies.has(address)) return address;
  }
  return address;
}

/** Node joins repeated headers of this name; its types do not say so. */
export const forwardedFor = ({ 'x-forwarded-for': value }: IncomingHttpHeaders): string | undefined =>
  Array.isArray(value) ? value.join(',') : value;

/** Some proxies add the port. */
const withoutPort = (entry: string): string => entry.replace(/^\[([^\]]*)\](?::\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1');
