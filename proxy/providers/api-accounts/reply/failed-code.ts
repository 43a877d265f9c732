// The code of a response that failed after its output began, by what its account stated (AA59).
import type { JsonObject } from '../../../turn/json/json.ts';
import { apiFailures } from '../failures.ts';
import { responsesPlace } from '../places.ts';

/** The codes that clients act on; a failure of any other kind is the provider's. */
const CODES: ReadonlySet<string> = new Set(['rate_limit_exceeded', 'usage_limit_reached', 'context_length_exceeded']);

const failures = apiFailures(responsesPlace);

/** @param error as the account sent it. @param now Unix milliseconds */
export function failedCode(error: JsonObject, now: number): string {
  const { code } = failures.inBand(error, now).error;
  return code !== null && CODES.has(code) ? code : 'upstream_error';
}
