// The code of a response that failed after its output began, from what the account stated (AA59).
import type { JsonObject } from '../../../turn/json/json.ts';
import { apiFailures } from '../failures/api-failures.ts';
import { responsesPlace } from '../failures/named-places.ts';

const failures = apiFailures(responsesPlace);

/** The class of the error decides, not the account's own code. @param error as the account sent it. @param now Unix milliseconds */
export function failedCode(error: JsonObject, now: number): string {
  const { cause, error: stated } = failures.inBand(error, now);
  if (cause === 'rate') return 'rate_limit_exceeded';
  if (cause === 'quota') return 'usage_limit_reached';
  return stated.code === 'context_length_exceeded' ? stated.code : 'upstream_error';
}
