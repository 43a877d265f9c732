// The refusal of a malformed member of the body. It states the path of the member, never its text.
import { Refusal } from './refusal.ts';

/** @param what the end of a sentence that begins with the path; it never contains a client's text (Q1) */
export function invalidRequest(param: string, what: string): Refusal {
  return new Refusal('invalid_request', { param, message: `\`${param}\` ${what}.` });
}

/**
 * The path of an unknown member. It is stated only if it looks like a name of a field in the public API, because other text of a client is
 * not repeated.
 */
export const unknownMember = (member: string): string => (/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(member) ? `.${member}` : '');
