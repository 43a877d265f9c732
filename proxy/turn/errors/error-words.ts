// Errors in the words of the client's own API. Rules and providers name members of the Responses request, which the client may not have
// written (Q3).
import type { Failure } from './failure.ts';
import { type ErrorBody, Refusal, RelayedRefusal } from './refusal.ts';

/** The sentence in which the agent backend names a member without quotes (RB8). */
const UNQUOTED = 'Unsupported parameter: ';
const QUOTES = ["'", '"', '`'] as const;

/** Returns the client's name of a member of the Responses request. Null if nothing in the client's request corresponds to the member. */
export type Rename = (param: string) => string | null;

interface Worded {
  readonly param: string | null;
  readonly message: string | null;
}

/** Replaces the names in an error. Returns the same object if it needs no change. */
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

/** A provider's refusal is returned unchanged, because its failure was in the client's words already. */
export function refusalInClientWords(refusal: Refusal, rename: Rename): Refusal {
  if (refusal instanceof RelayedRefusal) return refusal;
  const error = inClientWords(refusal.error, rename);
  return error === refusal.error ? refusal : new RewordedRefusal(refusal, error);
}

/** A refusal with another error text. */
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
