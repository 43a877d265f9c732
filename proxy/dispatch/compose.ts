// One attempt's request: the turn's body and headers, as this account must get them.

import type { AccountConfig, LoadedConfig } from '../config/config.ts';
import { nativeRequestHeaders, publicRequestHeaders } from '../intake/headers.ts';
import type { LiveTurn } from '../live-turn.ts';
import type { Outgoing, Work } from '../turn.ts';
import type { CarrierRequest } from '../upstream/carrier.ts';

export function compose(turn: LiveTurn, work: Work, account: AccountConfig): CarrierRequest {
  const out: Outgoing = {
    account,
    carrier: 'http',
    path: turn.route.upstream,
    headers: turn.native ? nativeRequestHeaders(turn.headers, turn.wire) : publicRequestHeaders(turn.headers),
    body: { ...work.body },
  };
  turn.passage.attempt(out);
  const { headers } = out;
  headers.accept ??= out.body.stream === true ? 'text/event-stream' : 'application/json';
  headers['content-type'] = 'application/json';
  headers['accept-encoding'] = 'identity';
  return {
    method: 'POST',
    path: out.path,
    headers: withCredential(headers, account, turn.generation.loaded),
    body: JSON.stringify(out.body),
  };
}

/** The account's own headers win over the client's, its credential over both. */
export function withCredential(headers: Record<string, string>, account: AccountConfig, loaded: LoadedConfig): Record<string, string> {
  for (const name in account.headers) headers[name.toLowerCase()] = account.headers[name] as string;
  const bearer = loaded.bearers.get(account.id);
  if (bearer !== undefined) headers.authorization = `Bearer ${bearer}`;
  return headers;
}
