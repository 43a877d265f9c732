// A request body that is passed on unread. Its size and the client's silence are limited. It is refused before it is read if its headers
// already exceed a limit.
import type { IncomingMessage } from 'node:http';
import type { Counters } from '../../../base/process/metrics.ts';
import type { Upload } from '../../../dispatch/client.ts';
import { Refusal } from '../../../turn/errors/refusal.ts';
import type { LiveTurn } from '../../../turn/live-turn.ts';
import { BodyArrival } from './body-arrival.ts';
import { JoinedBody } from './joined-body.ts';

export interface UploadLimits {
  readonly bytes: number;
  /** The longest silence of the client. The time in which the account reads nothing does not count. */
  readonly idleMs: number;
  readonly smallPieces: number;
  /** The client's key. */
  readonly key?: string | undefined;
}

const SDP = 'application/sdp';

/**
 * Checks the headers of a body that is to be passed on (Q4).
 * @throws Refusal `unsupported_media_type`, `request_too_large`
 */
export function checkUpload({ headers }: IncomingMessage, turn: LiveTurn, counters: Counters): UploadLimits {
  const mediaType = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  if (turn.route.sdpOnly && mediaType !== SDP) throw new Refusal('unsupported_media_type');
  // The body is not decoded, so the limit for a compressed body is on its compressed size.
  const encoded = (headers['content-encoding'] ?? 'identity') !== 'identity';
  const bytes = encoded ? turn.limits.compressed_body_bytes : turn.limits.request_body_bytes;
  if (Number(headers['content-length'] ?? 0) > bytes) {
    counters.add('bodies_too_large');
    throw new Refusal('request_too_large');
  }
  const { body_small_pieces: smallPieces } = turn.limits;
  return { bytes, idleMs: turn.timeouts.client_body_idle_ms, smallPieces, key: turn.identity?.key.id };
}

/** Begins to read. `refused` rejects with Refusal `request_too_large`, `request_timeout` or `invalid_request`. */
export function openUpload(request: IncomingMessage, { bytes, idleMs, smallPieces, key }: UploadLimits, counters: Counters): Upload {
  const { promise: refused, reject } = Promise.withResolvers<never>();
  refused.catch(() => undefined);
  const detach = (): boolean => {
    arrival.stop();
    stream.destroy();
    return request.complete;
  };
  const refuse = (refusal: Refusal): void => {
    reject(refusal);
    detach();
  };
  const arrival = new BodyArrival(request, {
    idleMs,
    smallPieces,
    counters,
    key,
    // After the whole body has arrived, only the account can be slow.
    isBusy: () => request.complete || stream.isFull,
    arrived: () => {
      if (arrival.bytes <= bytes) return;
      counters.add('bodies_too_large');
      refuse(new Refusal('request_too_large'));
    },
    closed: () => {
      if (!request.complete) detach();
    },
    malformed: () => refuse(new Refusal('invalid_request', { message: 'The request body ended early.' })),
    refuse,
  });
  const stream = new JoinedBody(request);
  // `refused` reports the error. Without a listener it would end the process.
  stream.on('error', () => undefined);
  return { stream, headers: framingOf(request), refused, isTaken: () => true, detach };
}

/** The framing headers that the client sent. */
function framingOf({ headers }: IncomingMessage): Record<string, string> {
  const { 'content-length': length, 'content-encoding': coding } = headers;
  return {
    ...(coding === undefined ? {} : { 'content-encoding': coding }),
    ...(length === undefined ? { 'transfer-encoding': 'chunked' } : { 'content-length': length }),
  };
}
