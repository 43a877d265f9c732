// The request of one attempt: path, headers and body as this account gets them.

import { isForm } from '../../turn/json/media-type.ts';
import type { LiveTurn } from '../../turn/live-turn.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import type { Body, Outgoing } from '../../turn/turn.ts';
import type { AccountHeaders } from '../../upstream/account-credentials.ts';
import type { CarrierRequest } from '../../upstream/carriers/carrier.ts';
import { identify } from '../account-identity.ts';
import type { Upload } from '../client.ts';
import { encodeForm, encodeJson } from './encode-body.ts';

export interface Composition {
  readonly turn: LiveTurn;
  readonly account: AccountConfig;
  /** The account's own headers and its credential, which replace the client's. */
  readonly own: AccountHeaders;
  /** The session id of the gateway's own; undefined where the account gets none. */
  readonly session: string | undefined;
  /** Removes from the request values that this account did not issue. */
  readonly trim: (out: Outgoing) => void;
}

/** The request of an attempt. */
export interface Composed {
  readonly request: CarrierRequest;
  /** The cap of output tokens that the account does not get although the key has a policy: the gateway ends the reply there (CR1). */
  readonly outputCap: number | undefined;
}

/** A request with a body that rules have read and edited. */
export function composeJson(body: Body, { turn, account, own, session, trim }: Composition): Composed {
  const out = outgoing(turn, account, 'http', { ...body });
  // A websocket client gets events, whatever `stream` its frame has.
  if (turn.client === 'websocket') out.body.stream = true;
  turn.rules.attempt(out);
  trim(out);
  const { headers } = out;
  headers.accept ??= out.body.stream === true ? 'text/event-stream' : 'application/json';
  const passed = turn.kind?.served === 'dispatch' && turn.kind.payload === 'json or form';
  const { contentType, bytes } = passed && isForm(turn.headers['content-type']) ? encodeForm(out.body) : encodeJson(out.body);
  headers['content-type'] = contentType;
  headers['accept-encoding'] = 'identity';
  const path = passed ? out.path + turn.query : out.path;
  const sent = inSession(identified(headers, turn, own), session);
  return { request: { method: 'POST', path, headers: sent, body: bytes }, outputCap: untoldCap(turn, body, out) };
}

/** A `response.create` frame, and the headers of the upgrade for a connection that has to be opened for it. */
export function composeFrame(body: Body, { turn, account, own, session, trim }: Composition): Composed {
  const type = 'response.create';
  const out = outgoing(turn, account, 'websocket', { type, ...body });
  turn.rules.attempt(out);
  trim(out);
  // A rule may have removed all members that it does not list.
  out.body.type = type;
  out.headers['openai-beta'] = withWebsockets(out.headers['openai-beta']);
  const frame = Buffer.from(JSON.stringify(out.body));
  const request = { method: 'GET', path: out.path, headers: inSession(identified(out.headers, turn, own), session), body: frame };
  return { request, outputCap: untoldCap(turn, body, out) };
}

/**
 * A request with a body that is passed on; rules see an empty body. Pass-through rows keep their query string, which is not logged (Q15).
 * @param upload undefined for methods without a body
 */
export function composeStream(upload: Upload | undefined, { turn, account, own, trim }: Composition): Composed {
  const out = outgoing(turn, account, 'http', {});
  Object.assign(out.headers, upload?.headers, { 'accept-encoding': 'identity' });
  turn.rules.attempt(out);
  trim(out);
  const path = isPassThrough(turn) ? out.path + turn.query : out.path;
  const request = { method: turn.method, path, headers: identified(out.headers, turn, own), body: upload?.stream ?? null };
  return { request, outputCap: undefined };
}

function untoldCap({ identity }: LiveTurn, { max_output_tokens: cap }: Body, out: Outgoing): number | undefined {
  const told = out.body.max_output_tokens !== undefined;
  return identity?.key.output_tokens && !told && typeof cap === 'number' ? cap : undefined;
}

/** The version of the websocket protocol, which every upgrade states (RB26). */
const WEBSOCKETS = 'responses_websockets=2026-02-06';

function withWebsockets(beta: string | undefined): string {
  if (beta === undefined || beta.includes('responses_websockets=')) return beta ?? WEBSOCKETS;
  return `${beta}, ${WEBSOCKETS}`;
}

function inSession(headers: Record<string, string>, session: string | undefined): Record<string, string> {
  if (session !== undefined) headers['session-id'] = session;
  return headers;
}

const isPassThrough = ({ kind }: LiveTurn): boolean => kind?.served === 'dispatch' && kind.reply === 'piped';

const identified = (sent: Record<string, string>, { surface, headers }: LiveTurn, own: AccountHeaders): Record<string, string> =>
  identify(sent, own, surface.agentProtocol ? headers : undefined);

function outgoing(turn: LiveTurn, account: AccountConfig, carrier: Outgoing['carrier'], body: Body): Outgoing {
  const headers = turn.surface.requestHeaders(turn.headers, turn.wire);
  return { account, carrier, path: pathOf(turn), headers, body };
}

/** The account-side path with its parameters as they came. */
const pathOf = ({ route: { upstream }, params }: LiveTurn): string =>
  upstream.includes('{') ? upstream.replace(/\{([^}]+)\}/g, (_, name: string) => params[name] ?? '') : upstream;
