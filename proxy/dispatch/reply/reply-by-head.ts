// Chooses by the head how the reply of an account is read: as events, collected, whole, or piped.
import { carrierFailure, type Failure } from '../../turn/errors/failure.ts';
import type { EventHandler } from '../../turn/provider/provider-replies.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import type { Head, Headers } from '../../turn/turn.ts';
import type { SocketSlot } from '../../upstream/carriers/websocket/socket-slot.ts';
import type { Upstream } from '../../upstream/upstreams.ts';
import type { Client } from '../client.ts';
import { CollectedReply } from './collected-reply.ts';
import { EventReply } from './events/event-reply.ts';
import { type EndWith, ResponseControl } from './events/response-control.ts';
import { PipedReply } from './piped-reply.ts';
import { headerOptions, isChecked, type ReplyContext } from './reply-context.ts';
import { WholeReply } from './whole-reply.ts';

export type Reply = EventReply | CollectedReply | WholeReply | PipedReply;

/** The client of a reply, and its connection. */
export interface ReplyPath {
  readonly client: Client;
  /** The websocket slot of the client's connection, if the request was sent as a frame. */
  readonly slot: SocketSlot | undefined;
  readonly account: AccountConfig;
  readonly upstream: Pick<Upstream, 'timeouts'>;
  /** The decoding of the reply; undefined if the account sends Responses events. */
  readonly decoding: readonly EventHandler[] | undefined;
}

/** Chooses the reply to one attempt by its head. Returns a failure if it can be neither read nor passed on. */
export type ReplyByHead<Of extends Reply> = (status: number, headers: Headers, path: ReplyPath, context: ReplyContext) => Of | Failure;

/** The reply to a body that the rules have read and written. */
export const turnReply: ReplyByHead<EventReply | CollectedReply | WholeReply> = (status, headers, path, context) => {
  if (!isPlain(headers)) return encodedReply(status, headers, context);
  const { client, slot } = path;
  if (slot && status !== 200) context.counters.add('upstream_websocket_refusals');
  const streams = status === 200 && (slot !== undefined || path.decoding !== undefined || mayBeEvents(headers));
  if (!streams) return wholeReply(status, headers, path, context);
  const head = headOf(status, headers, context);
  if (!isEventStream(headers)) delete head.headers['content-type'];
  return isChecked(context.turn)
    ? new CollectedReply({ head, client, context })
    : new EventReply(head, client.sink(path.decoding && 'decoded'), context, controlOf(path, context));
};

/** Undefined for a client that sends no frames about its reply. */
function controlOf({ client, account }: ReplyPath, { turn, provider, sending, estimateUsage }: ReplyContext) {
  const { controls } = client;
  return controls && ((endWith: EndWith) => new ResponseControl({ controls, account, turn, provider, sending, estimateUsage, endWith }));
}

/** The reply to a body that was passed on unread, if rules check the answer. */
export const wholeReply: ReplyByHead<WholeReply> = (status, headers, path, context) => {
  if (!isPlain(headers)) return encodedReply(status, headers, context);
  return new WholeReply(headers, headOf(status, headers, context), path.client, context);
};

/** The reply to a request that passes unread, whose answer passes unread too. Only a refusal is read. */
export const pipedReply: ReplyByHead<PipedReply | WholeReply> = (status, headers, path, context) => {
  if (status < 200) return carrierFailure('malformed');
  if (status >= 300) return wholeReply(status, headers, path, context);
  const head = headOf(status, headers, context);
  const { 'content-length': length, 'content-encoding': coding, location } = headers;
  // A 204 has no content, and therefore no length.
  if (length !== undefined && status !== 204) head.headers['content-length'] = length;
  if (coding !== undefined) head.headers['content-encoding'] = coding;
  if (location !== undefined && context.turn.route.sdpOnly) head.headers.location = location;
  return new PipedReply({ head, client: path.client, context, idleMs: path.upstream.timeouts.idleMs });
};

/**
 * The failure of an encoded reply. Only identity was requested, so an encoded body can be neither read nor passed on. For a refusal
 * its status is enough.
 */
function encodedReply(status: number, headers: Headers, { turn, provider, sent }: ReplyContext): Failure {
  if (status < 300) return carrierFailure('malformed');
  return provider.failures.ofStatus({ status, headers, body: Buffer.alloc(0) }, { now: turn.now(), sent });
}

function headOf(status: number, headers: Headers, { turn, provider }: ReplyContext): Head {
  const passed = turn.surface.answerHeaders(provider.replies.headers?.(headers) ?? headers, headerOptions(turn));
  return { status, headers: Object.assign(passed, turn.ownHeaders()) };
}

const isPlain = (headers: Headers): boolean => (headers['content-encoding'] ?? 'identity') === 'identity';

const typeOf = (headers: Headers): string => (headers['content-type'] ?? '').trimStart().toLowerCase();

const isEventStream = (headers: Headers): boolean => typeOf(headers).startsWith('text/event-stream');

/** Whether the reply may be a stream. A stream may have any type, or none, and its first byte then decides (RB16). */
export const mayBeEvents = (headers: Headers): boolean =>
  !/^(?:application\/(?:[\w.+-]*\+)?json|text\/html|application\/xhtml)/.test(typeOf(headers));
