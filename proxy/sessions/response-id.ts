// The id of a response, read from the bytes of its first event. The event is not parsed, because it repeats all settings of the request.
import type { ReplyEvent } from '../turn/reply/reply-event.ts';

/** The bytes that are searched. Every known provider writes the id first in the response. */
const HEAD_BYTES = 512;
const ID = /"response"\s*:\s*\{\s*"id"\s*:\s*"([!#-[\]-~]{1,200})"/;

/** The id; undefined if it is not within these bytes. Then it is read from the terminal event. */
export function responseIdIn({ bytes, start, end }: ReplyEvent): string | undefined {
  return ID.exec(bytes.toString('latin1', start, Math.min(end, start + HEAD_BYTES)))?.[1];
}
