// The refusal of a malformed member of the body: names its path, never its text.
import { Refusal } from '../../proxy/turn/refusal.ts';

/** `what` ends the sentence that begins with the path; it never holds a client's text (Q1). */
export function invalidRequest(param: string, what: string): Refusal {
  return new Refusal('invalid_request', { param, message: `\`${param}\` ${what}.` });
}
