// Chooses by the head how the reply of an account is read: as events, whole, or piped.
import { carrierFailure, type Failure } from '../../turn/errors/failure.ts';
import { Refusal } from '../../turn/errors/refusal.ts';
import { lowerType } from '../../turn/json/media-type.ts';
import type { EventHandler } from '../../turn/provider/provider-replies.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import type { Head, Headers } from '../../turn/turn.ts';
import type { ByteReader, EventReader } from '../../upstream/carriers/carrier.ts';
import type { SocketSlot } from '../../upstream/carriers/websocket/socket-slot.ts';
import { SWITCHING_PROTOCOLS } from '../../upstream/carriers/websocket/websocket-exchange.ts';
import type { Upstream } from '../../upstream/upstreams.ts';
import type { Client } from '../client.ts';
import { DecodedReply } from './decoded-reply.ts';
import { CheckedEvents } from './events/checked-events.ts';
import { EventReply, type EventReplyParts } from './events/event-reply.ts';
import { ResponseControl } from './events/response-control.ts';
import { PipedReply } from './piped-reply.ts';
import type { ReplyContext } from './reply-context.ts';
import { WholeReply } from './whole-reply.ts';

export type Reply = EventReply | WholeReply | PipedReply;

/** The attempt whose reply begins. */
export interface RepliedAttempt extends ReplyContext {
  readonly client: Client;
  readonly account: AccountConfig;
  readonly upstream: Pick<Upstream, 'timeouts'>;
  /** The websocket slot of the client's connection, if the request was sent as a frame. */
  readonly slot: SocketSlot | undefined;
  /** The steps that decode the reply; undefined if the account sends Responses events. */
  readonly decoding: readonly EventHandler[] | undefined;
  /** When the request was sent. Known only for a reply that is decoded. */
  readonly sentAt: number;
  /** The status of the reply; undefined before its head. */
  status: number | undefined;
  reply: Reply | undefined;
  /** The decoding that runs. */
  decoded: DecodedReply | undefined;
  /** Ends the attempt without an answer of the account. */
  refuse(refusal: Refusal): void;
}

/** Chooses the reply to one attempt by its head. Returns a failure if it can be neither read nor passed on. */
export type ReplyByHead<Of extends Reply> = (status: number, headers: Headers, attempt: RepliedAttempt) => Of | Failure;

/** Begins a reply. An error in it ends the turn, because the carrier would ignore the error and the turn would never end. */
export function beginReply<Of extends Reply>(
  status: number,
  headers: Headers,
  attempt: RepliedAttempt,
  replyOf: ReplyByHead<Of>,
): Of | ByteReader {
  // An accepted upgrade means the same as status 200 of a reply of events. Over HTTP it is not an answer.
  const replied = attempt.slot && status === SWITCHING_PROTOCOLS ? 200 : status;
  attempt.status = replied;
  try {
    attempt.observers.head(replied, headers);
    const reply = replyOf(replied, headers, attempt);
    if (!('cause' in reply)) {
      attempt.reply = reply;
      return reply;
    }
    attempt.settle({ kind: 'failed', failure: reply });
    attempt.sending.abort();
  } catch (thrown) {
    attempt.turn.fault(thrown);
    attempt.refuse(new Refusal('server_error'));
  }
  return DISCARD;
}

/** The reader of a reply that is no longer needed. */
const DISCARD: ByteReader = { reads: 'bytes', data: () => undefined, end: () => undefined, fail: () => undefined };

/** The reader of the reply to a body that the rules have read and written. It decodes events that are not Responses events. */
export function turnReader(status: number, headers: Headers, attempt: RepliedAttempt): EventReader | ByteReader {
  const reader = beginReply(status, headers, attempt, turnReply);
  const { decoding: steps, slot, turn, upstream, sentAt } = attempt;
  if (!steps || reader.reads !== 'events') return reader;
  const firstDataMs = slot ? undefined : upstream.timeouts.firstByteMs - (turn.now() - sentAt);
  attempt.decoded = new DecodedReply({ steps, reader, memory: turn.held, context: attempt, firstDataMs });
  return mayBeEvents(headers) ? attempt.decoded : attempt.decoded.asBytes();
}

const turnReply: ReplyByHead<EventReply | WholeReply> = (status, headers, attempt) => {
  if (!isPlain(headers)) return encodedReply(status, headers, attempt);
  const { client, slot, decoding, turn } = attempt;
  if (slot && status !== 200) attempt.counters.add('upstream_websocket_refusals');
  const streams = status === 200 && (slot !== undefined || decoding !== undefined || mayBeEvents(headers));
  if (!streams) return wholeReply(status, headers, attempt);
  const head = headOf(status, headers, attempt);
  if (!isEventStream(headers)) delete head.headers['content-type'];
  const isWhole = turn.dispatchedKind?.reply === 'whole';
  const parts = isWhole ? { checked: new CheckedEvents({ head, client, context: attempt }) } : { control: controlOf(attempt) };
  return new EventReply(head, client.sink(decoding && 'decoded'), attempt, parts);
};

/** Undefined for a client that sends no frames about its reply. */
function controlOf(attempt: RepliedAttempt): EventReplyParts['control'] {
  const { client, account } = attempt;
  const { controls } = client;
  return controls && ((endWith) => new ResponseControl({ controls, account, context: attempt, endWith }));
}

/** The reply to a body that was passed on unread, if rules check the answer. */
export const wholeReply: ReplyByHead<WholeReply> = (status, headers, attempt) => {
  if (!isPlain(headers)) return encodedReply(status, headers, attempt);
  return new WholeReply(headers, headOf(status, headers, attempt), attempt.client, attempt);
};

/** The reply to a request that passes unread, whose answer passes unread too. Only a refusal is read. */
export const pipedReply: ReplyByHead<PipedReply | WholeReply> = (status, headers, attempt) => {
  if (status < 200) return carrierFailure('malformed');
  if (status >= 300) return wholeReply(status, headers, attempt);
  const head = headOf(status, headers, attempt);
  const { 'content-length': length, 'content-encoding': coding, location } = headers;
  // A 204 has no content, and therefore no length.
  if (length !== undefined && status !== 204) head.headers['content-length'] = length;
  if (coding !== undefined) head.headers['content-encoding'] = coding;
  if (location !== undefined && attempt.turn.route.sdpOnly) head.headers.location = location;
  return new PipedReply({ head, client: attempt.client, context: attempt, idleMs: attempt.upstream.timeouts.idleMs });
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
  const passed = turn.surface.answerHeaders(provider.replies.headers?.(headers) ?? headers, turn.answerHeaderOptions);
  return { status, headers: Object.assign(passed, turn.ownHeaders()) };
}

const isPlain = (headers: Headers): boolean => (headers['content-encoding'] ?? 'identity') === 'identity';

const isEventStream = (headers: Headers): boolean => lowerType(headers['content-type']).startsWith('text/event-stream');

/** Whether the reply may be a stream. A stream may have any type, or none, and its first byte then decides (RB16). */
const mayBeEvents = (headers: Headers): boolean =>
  !/^(?:application\/(?:[\w.+-]*\+)?json|text\/html|application\/xhtml)/.test(lowerType(headers['content-type']));
