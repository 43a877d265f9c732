// PostgreSQL's and the client library's errors as StoreErrors.
import { StoreError, type StoreErrorCode } from '../../errors.ts';

/** Codes by SQLSTATE, or by its class (the first two characters). */
const codes: Readonly<Record<string, StoreErrorCode>> = {
  '08': 'unreachable',
  '22': 'bad_row',
  '23': 'bad_row',
  '28': 'refused',
  '3D': 'refused',
  '40': 'locked', // a serialisation failure or a deadlock: the transaction was rolled back
  '54': 'bad_row', // a value is too large for an index
  '53100': 'full',
  '53300': 'busy', // too many connections
  '55P03': 'locked',
  '57': 'unreachable', // shut down, or starting up
  '57014': 'busy', // cancelled at its deadline
  '25006': 'not_writable', // a standby server
  '42501': 'not_writable',
  XX001: 'corrupt',
  XX002: 'corrupt',
};

/** Faults that the operator can correct, in words. */
const reasons: Readonly<Record<string, string>> = {
  '25006': 'the server accepts no writes, as a standby does',
  '28000': 'the user does not exist or may not log in',
  '28P01': 'the password is wrong',
  '3D000': 'the database does not exist',
  '42501': 'the user is not permitted to do this',
  '53300': 'the server has no connection free',
  EAI_AGAIN: 'the name of its host cannot be looked up at the moment',
  ECONNREFUSED: 'nothing accepts connections there',
  ECONNRESET: 'the connection broke',
  EHOSTUNREACH: 'there is no route to its host',
  ENOTFOUND: 'there is no host of this name',
  ETIMEDOUT: 'no answer',
};

const worded = (native: string): string => (Object.hasOwn(reasons, native) ? `${reasons[native]} (${native})` : native);

/** The library reports this by its message only, without a code. */
const NO_TLS = 'The server does not support SSL connections';

/** Whether a code is a SQLSTATE: five characters. System codes such as ECONNREFUSED and EPIPE begin with an E, which no SQLSTATE does. */
const isSqlState = (code: string): boolean => /^[0-9A-DF-Z][0-9A-Z]{4}$/.test(code);

/** The failure of a statement or a connection. Its message names the SQLSTATE or the system's code, and nothing of the statement. */
export function connectionFailureOf(thrown: unknown): StoreError {
  if (thrown instanceof StoreError) return thrown;
  const native = thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : '';
  if (isSqlState(native)) {
    return new StoreError(codes[native] ?? codes[native.slice(0, 2)] ?? 'failed', `PostgreSQL: ${worded(native)}`, { cause: thrown });
  }
  if (thrown instanceof Error && thrown.message === NO_TLS) {
    return new StoreError('refused', 'PostgreSQL: the server has no TLS', { cause: thrown });
  }
  // The library's pool has no code for this failure.
  if (thrown instanceof Error && thrown.message === 'timeout exceeded when trying to connect') {
    return new StoreError('busy', 'PostgreSQL: no connection is free', { cause: thrown });
  }
  // Errors of sockets and TLS, and the library's own: a deadline passed, or the connection ended.
  return new StoreError('unreachable', `PostgreSQL: ${worded(native) || 'no answer'}`, { cause: thrown });
}
