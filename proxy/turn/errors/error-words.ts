// A provider's error in the words of the client's own API: it names members of the Responses request, which the client did not write (Q3).
import type { ProviderError } from './error-statement.ts';

const QUOTES = ["'", '"', '`'] as const;

/**
 * Returns the same object if it names no member that has another name for the client.
 * @param rename returns the client's name of a member of the Responses request, or null if the member was made from nothing in its request
 */
export function inClientWords(error: ProviderError, rename: (param: string) => string | null): ProviderError {
  const { param, message } = error;
  if (param === null) return error;
  const own = rename(param);
  if (own === param) return error;
  if (own === null || message === null) return { ...error, param: own };
  return {
    ...error,
    param: own,
    message: QUOTES.reduce((text, quote) => text.replaceAll(quote + param + quote, quote + own + quote), message),
  };
}
