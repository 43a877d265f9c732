// Checks networks in CIDR notation: those of proxies in front of the gateway, and those from which keys may be used.
import { networkOf, UNIX } from '../../base/process/networks.ts';
import type { Problem } from '../schema/finding.ts';
import { mapping, rowsOf, textsAt } from './config-rows.ts';

export function* checkNetworks(data: unknown): Generator<Problem> {
  const listen = mapping(mapping(data).listen);
  yield* trustedOperators(data);
  const lists = [
    textsAt(listen, 'trusted_proxies', ['listen']),
    ...rowsOf(data, 'keys').map(({ path, row }) => textsAt(row, 'allow_from', path)),
  ];
  for (const { path, text } of lists.flat()) {
    if (text === UNIX) {
      if (listen.unix === undefined)
        yield { path, message: 'this network has no clients, because listen.unix is not set', severity: 'warning' };
      continue;
    }
    const network = networkOf(text);
    if (!network) yield { path, message: 'must be an address or a network, such as 10.0.0.0/8 or 2001:db8::/32, or unix' };
    else if (network.bits === 0 && path[0] === 'listen') {
      yield { path, message: 'this trusts every client to state any address in X-Forwarded-For', severity: 'warning' };
    }
  }
}

/** Checks the proxies that state the operator. If their networks include other machines, anyone there can claim to be an operator. */
function* trustedOperators(data: unknown): Generator<Problem> {
  const header = mapping(mapping(mapping(data).admin).trusted_header);
  const path = ['admin', 'trusted_header'];
  if (typeof header.name === 'string' && OWN_MEANING.has(header.name)) {
    yield { path: [...path, 'name'], message: 'this header has a meaning of its own, so clients send it too: it cannot name an operator' };
  }
  for (const { path: at, text } of textsAt(header, 'from', path)) {
    const network = networkOf(text);
    if (!network) yield { path: at, message: 'must be an address or a network, such as 10.0.0.5/32 or 2001:db8::/64' };
    else if (network.bits === 0)
      yield { path: at, message: 'this network contains every address: any client could claim to be any operator' };
  }
}

const OWN_MEANING: ReadonlySet<string> = new Set(['authorization', 'cookie', 'host', 'origin', 'x-poolgate-command']);
