// Checks how accounts are reached: the addresses of proxies, and that certificates are complete.
import { isRehearsal } from '../../turn/provider/rehearsal-address.ts';
import type { Path, Problem } from '../schema/finding.ts';
import { isMapping, rowsOf, text } from './config-rows.ts';

export function* checkConnections(data: unknown): Generator<Problem> {
  for (const { path, row } of rowsOf(data, 'accounts')) {
    const { base_url, proxy, tls } = row;
    const own = { proxy, tls };
    if (isRehearsal(base_url)) {
      for (const [name, value] of Object.entries(own)) {
        if (value === undefined) continue;
        yield { path: [...path, name], at: 'key', message: 'a simulated account is reached without proxies and certificates' };
      }
      continue;
    }
    if (isMapping(proxy)) yield* proxyAddress(text(proxy.url), [...path, 'proxy', 'url']);
    if (!isMapping(tls) || (tls.cert === undefined) === (tls.key === undefined)) continue;
    const missing = tls.cert === undefined ? 'cert' : 'key';
    yield { path: [...path, 'tls'], at: 'first-key', message: `'${missing}' is missing; a client certificate needs cert and key` };
  }
}

const SCHEMES: ReadonlySet<string> = new Set(['http:', 'https:', 'socks5:']);

/** Messages do not repeat the address, because it may contain a password. */
function* proxyAddress(written: string | undefined, path: Path): Generator<Problem> {
  if (written === undefined) return;
  const url = URL.canParse(written) ? new URL(written) : undefined;
  if (!url || !SCHEMES.has(url.protocol) || url.hostname === '') {
    yield {
      path,
      message: 'must be the address of a proxy: http://, https:// or socks5:// with a host, such as http://proxy.example:3128',
    };
  } else if (url.username !== '' || url.password !== '') {
    yield { path, message: 'an address must not contain a user or password: reference USER:PASSWORD in proxy.credential' };
  } else if (url.pathname.length > 1 || url.search !== '' || url.hash !== '') {
    yield { path, message: 'the address of a proxy has no path, query or fragment' };
  }
}
