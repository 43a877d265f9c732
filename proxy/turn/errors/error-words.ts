// Errors in the words of the client's own API: rules and providers name members of the Responses request, which the client may not have
// written (Q3).
import type { Failure } from './failure.ts';
import { type ErrorBody, Refusal, RelayedRefusal } from './refusal.ts';

/** The sentence in which the agent backend names a member without quotes (RB8). */
const UNQUOTED = 'Unsupported parameter: ';
const QUOTES = ["'", '"', '`'] as const;

/** The client's name of a member of the Responses request; null if the member was made from nothing in its request. */
export type Rename = (param: string) => string | null;

interface Worded {
  readonly param: string | null;
  readonly message: string | null;
}

/** Returns the same object if it names no member that has another name for the client. */
export function inClientWords<E extends Worded>(error: E, rename: Rename): E {
  const { param, message } = error;
  if (param === null) return error;
  const own = rename(param);
  if (own === param) return error;
  if (own === null || message === null) return { ...error, param: own };
  const named = message.startsWith(UNQUOTED + param) ? UNQUOTED + own + message.slice(UNQUOTED.length + param.length) : message;
  return {
    ...error,
    param: own,
    message: QUOTES.reduce((text, quote) => text.replaceAll(quote + param + quote, quote + own + quote), named),
  };
}

export function failureInClientWords(failure: Failure, rename: Rename): Failure {
  const error = inClientWords(failure.error, rename);
  return error === failure.error ? failure : { ...failure, error };
}

/** A provider's refusal has the client's words already: those of its failure. */
export function refusalInClientWords(refusal: Refusal, rename: Rename): Refusal {
  if (refusal instanceof RelayedRefusal) return refusal;
  const error = inClientWords(refusal.error, rename);
  return error === refusal.error ? refusal : new RewordedRefusal(refusal, error);
}

/** A refusal whose error has other words. */
class RewordedRefusal extends Refusal {
  override readonly status: number;
  override readonly error: ErrorBody;
  override readonly headers: Readonly<Record<string, string>>;
  readonly #of: Refusal;

  constructor(of: Refusal, error: ErrorBody) {
    super('server_error');
    this.status = of.status;
    this.error = error;
    this.headers = of.headers;
    this.#of = of;
  }

  override get loggedCode(): string | null {
    return this.#of.loggedCode;
  }
}
