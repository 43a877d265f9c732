// The refusal of a malformed place of the body: its path is named, its text is not.
import { Refusal } from '../proxy/turn/refusal.ts';

/** `what` ends the sentence "`param` …" and never has a client's text in it (Q1). */
export function invalid(param: string, what: string): Refusal {
  return new Refusal('invalid_request', { param, message: `\`${param}\` ${what}.` });
}
