// The id of a response, read from the bytes of its first event: the whole event repeats the request's settings, and is not parsed for it.
import type { ReplyEvent } from '../turn/reply/reply-event.ts';

/** The id comes first in the response of every known provider. */
const HEAD_BYTES = 512;
const ID = /"response"\s*:\s*\{\s*"id"\s*:\s*"([!#-[\]-~]{1,200})"/;

/** Undefined if it is not found at once: then it is read from the terminal event. */
export function responseIdIn({ bytes, start, end }: ReplyEvent): string | undefined {
  return ID.exec(bytes.toString('latin1', start, Math.min(end, start + HEAD_BYTES)))?.[1];
}
