// The page of a network's guard, in place of the provider's answer: it says nothing about the request, its credential or the account (RB3).
import type { Headers } from '../turn.ts';

const HTML = /^\s*text\/html\b/i;
const MARKUP = 0x3c;

/** @param body as far as it was read */
export function isChallengePage(status: number, headers: Headers, body: Buffer): boolean {
  // Some guards name the page, and send it with other statuses too.
  if (status >= 400 && headers['cf-mitigated'] === 'challenge') return true;
  if (status !== 403) return false;
  const type = headers['content-type'];
  return type === undefined ? body[0] === MARKUP : HTML.test(type);
}
