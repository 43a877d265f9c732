// What of a pass-through request goes to its account, and what of the account's answer comes back: path and headers (Q3, Q15).
import type { IncomingMessage } from 'node:http';
import type { Lease } from '../../accounts/selection/lease.ts';
import type { OwnHeaders } from '../../dispatch/renewal.ts';
import type { Continuity } from '../../sessions/continuity.ts';
import { nativeAnswerHeaders, nativeRequestHeaders } from '../../turn/headers.ts';
import type { LiveTurn } from '../../turn/live-turn.ts';
import type { Headers, Outgoing } from '../../turn/turn.ts';
import type { Exchange } from './http-turn.ts';

/** What a request's headers are made of. */
export interface Sender {
  readonly exchange: Exchange;
  readonly lease: Lease;
  readonly own: OwnHeaders;
  readonly continuity: Continuity;
}

/** The path with its parameters as they came. Query strings are forwarded here, and unroutable logged (Q15). */
export function pathOf({ route, params }: LiveTurn, { url = '' }: IncomingMessage): string {
  const query = url.indexOf('?');
  const path = route.upstream.replace(/\{([^}]+)\}/g, (_, name: string) => params[name] ?? '');
  return path + (query === -1 ? '' : url.slice(query));
}

export function requestHeaders({ exchange: { turn, request }, lease, own, continuity }: Sender): Record<string, string> {
  const headers = nativeRequestHeaders(turn.headers, turn.wire);
  headers['accept-encoding'] = 'identity';
  const { 'content-length': length, 'content-encoding': coding } = turn.headers;
  if (coding !== undefined) headers['content-encoding'] = coding;
  if (length !== undefined) headers['content-length'] = length;
  else if (request.method === 'POST') headers['transfer-encoding'] = 'chunked';
  const out: Outgoing = { account: lease.account, carrier: 'http', path: turn.route.upstream, headers, body: {} };
  turn.rules.attempt(out);
  continuity.trim(out, turn);
  return Object.assign(out.headers, own);
}

export function answerHeaders(turn: LiveTurn, reply: IncomingMessage): Record<string, string> {
  const headers = nativeAnswerHeaders(reply.headers as Headers, turn.wire, turn.pool.hide_account_quota ? 'hide-quota' : 'show-quota');
  const { location, 'content-length': length, 'content-encoding': coding } = reply.headers;
  if (isSdpOnly(turn) && location !== undefined) headers.location = location;
  // A 204 has no content, and by that no length.
  if (length !== undefined && reply.statusCode !== 204) headers['content-length'] = length;
  if (coding !== undefined) headers['content-encoding'] = coding;
  return headers;
}

/** B2: realtime calls are an SDP proxy and nothing more. */
export const isSdpOnly = (turn: LiveTurn): boolean => turn.route.template.endsWith('/realtime/calls');
