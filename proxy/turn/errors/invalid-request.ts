// The refusal of a malformed member of the body: names its path, never its text.
import { Refusal } from './refusal.ts';

/** `what` ends the sentence that begins with the path; it never holds a client's text (Q1). */
export function invalidRequest(param: string, what: string): Refusal {
  return new Refusal('invalid_request', { param, message: `\`${param}\` ${what}.` });
}

/** The path of an unknown member: named if it looks like a field's name, as in the public API; any other text of a client is not repeated. */
export const unknownMember = (member: string): string => (/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(member) ? `.${member}` : '');
