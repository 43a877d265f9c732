// One attempt's request: the turn's body and headers, as this account must get them.

import { nativeRequestHeaders, publicRequestHeaders } from '../turn/headers.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import type { AccountConfig } from '../turn/settings.ts';
import type { Outgoing, Work } from '../turn/turn.ts';
import type { CarrierRequest } from '../upstream/carrier.ts';
import type { OwnHeaders } from './renewal.ts';

export interface Composing {
  readonly turn: LiveTurn;
  readonly work: Work;
  readonly account: AccountConfig;
  readonly own: OwnHeaders;
  /** Takes out what this account did not issue. */
  readonly trim: (out: Outgoing, turn: LiveTurn) => void;
}

export function compose({ turn, work, account, own, trim }: Composing): CarrierRequest {
  const out: Outgoing = {
    account,
    carrier: 'http',
    path: turn.route.upstream,
    headers: turn.native ? nativeRequestHeaders(turn.headers, turn.wire) : publicRequestHeaders(turn.headers),
    body: { ...work.body },
  };
  turn.rules.attempt(out);
  trim(out, turn);
  const { headers } = out;
  headers.accept ??= out.body.stream === true ? 'text/event-stream' : 'application/json';
  headers['content-type'] = 'application/json';
  headers['accept-encoding'] = 'identity';
  return {
    method: 'POST',
    path: out.path,
    // The account's own headers win over the client's, its credential over both.
    headers: Object.assign(headers, own),
    // Bytes, which the connection holds until the answer is whole: a text would be held beside them.
    body: Buffer.from(JSON.stringify(out.body)),
  };
}
