// The hosts that NO_PROXY excludes from the proxies of the environment, read as by curl and most other programs.
import { BlockList, isIP } from 'node:net';

/**
 * @param except names, addresses and networks, separated by commas or spaces. A name includes its subdomains, `*` includes every host, and
 * `:PORT` limits an entry to that port.
 * @param host a name or an address, without brackets
 */
export function isExcepted(except: string, host: string, port: number): boolean {
  const name = host.toLowerCase().replace(/\.$/, '');
  return except
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => entry !== '' && covers(entry, name, port));
}

function covers(entry: string, name: string, port: number): boolean {
  if (entry === '*') return true;
  const { host, only } = parsed(entry);
  if (only !== undefined && only !== port) return false;
  const family = isIP(name);
  if (family !== 0) return includes(host, name, family);
  const suffix = host.replace(/^\*?\./, '');
  return name === suffix || name.endsWith(`.${suffix}`);
}

/** An entry as host and port. An IPv6 address with a port has brackets. */
function parsed(entry: string): { readonly host: string; readonly only?: number } {
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/.exec(entry) ?? [];
  const host = bracketed ?? plain ?? entry;
  return port === undefined ? { host } : { host, only: Number(port) };
}

/** Whether an entry is this address, or a network that contains it. */
function includes(entry: string, address: string, family: number): boolean {
  const [network = '', bits] = entry.split('/');
  const version = isIP(network);
  if (version === 0) return false;
  const list = new BlockList();
  const type = version === 6 ? 'ipv6' : 'ipv4';
  const most = version === 6 ? 128 : 32;
  const length = bits === undefined ? most : Number(bits);
  if (!Number.isInteger(length) || length < 0 || length > most) return false;
  list.addSubnet(network, length, type);
  return list.check(address, family === 6 ? 'ipv6' : 'ipv4');
}
