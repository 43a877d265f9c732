// Recognises the page with which a network's guard answers instead of the provider. It says nothing about the request, its credential or
// the account (RB3).
import type { Headers } from '../turn.ts';

const HTML = /^\s*text\/html\b/i;
const MARKUP = 0x3c;

/** @param body the part that was read */
export function isChallengePage(status: number, headers: Headers, body: Buffer): boolean {
  // Some guards identify the page in this header, and also send it with other statuses.
  if (status >= 400 && headers['cf-mitigated'] === 'challenge') return true;
  if (status !== 403) return false;
  const type = headers['content-type'];
  return type === undefined ? body[0] === MARKUP : HTML.test(type);
}
