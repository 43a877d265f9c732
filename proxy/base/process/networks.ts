// Sets of networks in CIDR notation, and the canonical form of an address.
import { BlockList, isIP } from 'node:net';

/** The entry in a list of networks for clients of the gateway's socket in the file system. Such clients have no address. */
export const UNIX = 'unix';

const family = (version: number): 'ipv4' | 'ipv6' => (version === 6 ? 'ipv6' : 'ipv4');

/** The network of an entry such as `10.0.0.0/8`; undefined if the entry is not valid. */
export function networkOf(entry: string): { readonly address: string; readonly bits: number } | undefined {
  const [address = '', length] = entry.split('/');
  const version = isIP(address);
  if (version === 0) return undefined;
  const most = version === 6 ? 128 : 32;
  const bits = length === undefined ? most : Number(length);
  return Number.isInteger(bits) && bits >= 0 && bits <= most ? { address, bits } : undefined;
}

/** The canonical form of an address, in which a mapped IPv4 address is an IPv4 address. Undefined if the text is not an address. */
export function plainAddress(text: string): string | undefined {
  const inner = text.replace(/^::ffff:(?=[\d.]+$)/i, '');
  return isIP(inner) === 0 ? undefined : inner;
}

export class Networks {
  readonly #list = new BlockList();
  readonly #hasUnix: boolean;

  /** @param entries networks, addresses and `unix`; any other text is ignored */
  constructor(entries: readonly string[]) {
    this.#hasUnix = entries.includes(UNIX);
    for (const entry of entries) {
      const network = networkOf(entry);
      if (network) this.#list.addSubnet(network.address, network.bits, family(isIP(network.address)));
    }
  }

  /** @param address a result of `plainAddress`, or `unix`; an unknown address is in no network */
  has(address: string | undefined): boolean {
    if (address === undefined) return false;
    return address === UNIX ? this.#hasUnix : this.#list.check(address, family(isIP(address)));
  }
}
