// Makes the request of one attempt. Rules edit it for the account, then the account's provider encodes it.
import type { AccountLease } from '../../accounts/selection/lease.ts';
import { ItemPlaces } from '../../turn/errors/item-places.ts';
import type { LiveTurn } from '../../turn/live-turn.ts';
import type { AdaptedName } from '../../turn/provider/adapted.ts';
import type { ProviderApi } from '../../turn/provider/provider-api.ts';
import type { EncodedAttempt, EncodedRequest, RequestHead } from '../../turn/provider/provider-requests.ts';
import { isCompaction } from '../../turn/routes/kinds.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import type { Body, Outgoing } from '../../turn/turn.ts';
import type { AccountHeaders } from '../../upstream/account-credentials.ts';
import type { CarrierRequest } from '../../upstream/carriers/carrier.ts';
import type { SocketSlot } from '../../upstream/carriers/websocket/socket-slot.ts';
import type { Upload } from '../client.ts';
import type { DispatchServices } from '../dispatch-services.ts';
import type { TurnProgress } from '../retries/turn-progress.ts';

export interface Composition extends EncodedAttempt {
  readonly provider: ProviderApi;
  /** Removes values from the request that this account did not issue. */
  readonly trim: (out: Outgoing) => void;
  /** Whether a frame would go over an open websocket. */
  readonly isConnected?: boolean | undefined;
}

/** The request of an attempt. */
export interface Composed {
  readonly composition: Composition;
  readonly request: Omit<CarrierRequest, 'body'> &
    Pick<EncodedRequest, 'adjusts'> & { readonly body: CarrierRequest['body'] | Promise<Buffer> };
  /** What the encoding changed (AA16); undefined if it changed nothing. */
  readonly adapted: readonly AdaptedName[] | undefined;
  /** The request before it was encoded, on which the decoding of the reply depends. */
  readonly out: Outgoing;
  /** The cap of output tokens that the key has and the account does not get. The gateway ends the reply at it (CR1). */
  readonly outputCap: number | undefined;
  /** The websocket slot of the client's connection, if the request is a frame. */
  readonly slot: SocketSlot | undefined;
  /** The request's body, if it is passed on unread. */
  readonly upload: Upload | undefined;
}

/** Makes the request of a turn's next attempt. @param own the headers of its account @throws Refusal, or an error of the encoding */
export function composeFor(
  progress: TurnProgress,
  { account, provider, upstream }: AccountLease,
  own: AccountHeaders,
  services: DispatchServices,
): Composed {
  const { turn, work, socket, continuation } = progress;
  const { payload, estimateUsage } = progress.request;
  const { continuity, compactPaths, models } = services;
  const session = progress.sessionAt(account, continuity);
  const composition: Composition = {
    turn,
    provider,
    work,
    account: compacting(account, turn, compactPaths),
    own,
    session,
    estimateUsage,
    trim: (out) => continuity.trim(out, continuation, turn.wire),
    model: turn.model && models.accountModel(account, turn.model.id),
    isConnected: socket?.isOpenAt(upstream.websocketCarrier, session),
  };
  if (payload.kind !== 'json') {
    // Opened only now, so that the client sends its body when an account is ready to receive it.
    const { field } = provider.requests;
    progress.upload = payload.open?.(field && ((part) => field(part, composition)));
    return composeStream(progress.upload, composition);
  }
  const body = continuity.fit(progress.bodyFor(account), continuation, account.id);
  progress.sentBody = body;
  const frame = socket?.carries(account) ? composeFrame(body, composition, socket.slot) : undefined;
  const { maxBytes = 0 } = provider.requests.frames ?? {};
  if (!frame || !socket?.fits((frame.request.body as Buffer).length, maxBytes)) return composeJson(body, composition);
  socket.inSession(session);
  return frame;
}

/** The account with the way in which it compacts at the moment. */
function compacting(account: AccountConfig, turn: LiveTurn, compactPaths: DispatchServices['compactPaths']): AccountConfig {
  if (account.compact !== 'auto' || !isCompaction(turn.route.kind)) return account;
  return { ...account, compact: compactPaths.of(account) };
}

/** Makes a request with a body that rules have read and edited. */
export function composeJson(body: Body, composition: Composition): Composed {
  const { turn, provider, trim } = composition;
  const out = outgoing(composition, 'http', { ...body });
  // A websocket client gets events, even if its frame states no `stream`.
  if (turn.client === 'websocket') out.body.stream = true;
  turn.rules.attempt(out);
  trim(out);
  const request = provider.requests.json(out, composition);
  const outputCap = unsentCap(turn, body, out);
  return { composition, request, adapted: request.adapted, out, outputCap, slot: undefined, upload: undefined };
}

/** The head of a frame over an open websocket. Only an upgrade has headers. */
const CONNECTED: RequestHead = { method: 'GET', path: '', headers: {} };

/** Makes a `response.create` frame; undefined if the account's API has none for the turn. */
export function composeFrame(body: Body, composition: Composition, slot: SocketSlot | undefined): Composed | undefined {
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
  if (!frame) return undefined;
  const request = { ...(isConnected ? CONNECTED : frames.upgrade(out, composition)), ...frame };
  return { composition, request, adapted: request.adapted, out, outputCap: unsentCap(turn, body, out), slot, upload: undefined };
}

/** Makes a request with a body that is passed on. Rules see an empty body. @param upload undefined for methods without a body */
function composeStream(upload: Upload | undefined, composition: Composition): Composed {
  const { turn, provider, trim } = composition;
  const out = outgoing(composition, 'http', {});
  Object.assign(out.headers, upload?.headers);
  turn.rules.attempt(out);
  trim(out);
  const head = provider.requests.passed(out, composition);
  const request = { ...head, body: upload?.stream ?? null };
  return { composition, request, adapted: head.adapted, out, outputCap: undefined, slot: undefined, upload };
}

function unsentCap({ identity }: LiveTurn, { max_output_tokens: cap }: Body, out: Outgoing): number | undefined {
  const isSent = out.body.max_output_tokens !== undefined;
  return identity?.key.output_tokens && !isSent && typeof cap === 'number' ? cap : undefined;
}

function outgoing({ turn, account, provider, isConnected }: Composition, carrier: Outgoing['carrier'], body: Body): Outgoing {
  const { path, headers } = isConnected && carrier === 'websocket' ? { path: '', headers: {} } : provider.requests.begin(turn);
  const places = provider.name === 'agent' ? undefined : new ItemPlaces();
  return { account, api: provider.name, carrier, path, headers, body, places };
}
