// Makes the request of one attempt. Rules edit it for the account, then the account's provider encodes it.
import { ItemPlaces } from '../../turn/errors/item-places.ts';
import type { LiveTurn } from '../../turn/live-turn.ts';
import type { AdaptedName } from '../../turn/provider/adapted.ts';
import type { ProviderApi } from '../../turn/provider/provider-api.ts';
import type { EncodedAttempt, EncodedRequest, RequestHead } from '../../turn/provider/provider-requests.ts';
import type { Body, Outgoing } from '../../turn/turn.ts';
import type { CarrierRequest } from '../../upstream/carriers/carrier.ts';
import type { Upload } from '../client.ts';

export interface Composition extends EncodedAttempt {
  readonly provider: ProviderApi;
  /** Removes values from the request that this account did not issue. */
  readonly trim: (out: Outgoing) => void;
  /** Whether a frame would go over an open websocket. */
  readonly isConnected?: boolean | undefined;
}

/** The request of an attempt. */
export interface Composed {
  readonly request: Omit<CarrierRequest, 'body'> &
    Pick<EncodedRequest, 'adjusts'> & { readonly body: CarrierRequest['body'] | Promise<Buffer> };
  /** What the encoding changed (AA16); undefined if it changed nothing. */
  readonly adapted?: readonly AdaptedName[] | undefined;
  /** The request before it was encoded, on which the decoding of the reply depends. */
  readonly out: Outgoing;
  /** The cap of output tokens that the key has and the account does not get. The gateway ends the reply at it (CR1). */
  readonly outputCap: number | undefined;
}

/** Makes a request with a body that rules have read and edited. */
export function composeJson(body: Body, composition: Composition): Composed {
  const { turn, provider, trim } = composition;
  const out = outgoing(composition, 'http', { ...body });
  // A websocket client gets events, even if its frame states no `stream`.
  if (turn.client === 'websocket') out.body.stream = true;
  turn.rules.attempt(out);
  trim(out);
  return encoded(provider.requests.json(out, composition), out, untoldCap(turn, body, out));
}

/** The head of a frame over an open websocket. Only an upgrade has headers. */
const CONNECTED: RequestHead = { method: 'GET', path: '', headers: {} };

/** Makes a `response.create` frame; undefined for an API without websockets. */
export function composeFrame(body: Body, composition: Composition): Composed | undefined {
  const { turn, provider, trim, isConnected } = composition;
  const { frames } = provider.requests;
  if (!frames) return undefined;
  const type = 'response.create';
  const out = outgoing(composition, 'websocket', { type, ...body });
  turn.rules.attempt(out);
  trim(out);
  // Set again, because a rule may have removed all members that it does not list.
  out.body.type = type;
  const frame = frames.encode(out, composition);
  const head = isConnected ? CONNECTED : frames.upgrade(out, composition);
  return encoded({ ...head, ...frame }, out, untoldCap(turn, body, out));
}

/** Makes a request with a body that is passed on. Rules see an empty body. @param upload undefined for methods without a body */
export function composeStream(upload: Upload | undefined, composition: Composition): Composed {
  const { turn, provider, trim } = composition;
  const out = outgoing(composition, 'http', {});
  Object.assign(out.headers, upload?.headers);
  turn.rules.attempt(out);
  trim(out);
  const head = provider.requests.passed(out, composition);
  return { request: { ...head, body: upload?.stream ?? null }, adapted: head.adapted, out, outputCap: undefined };
}

const encoded = (request: EncodedRequest, out: Outgoing, outputCap: number | undefined): Composed => ({
  request,
  adapted: request.adapted,
  out,
  outputCap,
});

function untoldCap({ identity }: LiveTurn, { max_output_tokens: cap }: Body, out: Outgoing): number | undefined {
  const told = out.body.max_output_tokens !== undefined;
  return identity?.key.output_tokens && !told && typeof cap === 'number' ? cap : undefined;
}

function outgoing({ turn, account, provider, isConnected }: Composition, carrier: Outgoing['carrier'], body: Body): Outgoing {
  const { path, headers } = isConnected && carrier === 'websocket' ? { path: '', headers: {} } : provider.requests.begin(turn);
  const places = provider.name === 'agent' ? undefined : new ItemPlaces();
  return { account, api: provider.name, carrier, path, headers, body, places };
}
