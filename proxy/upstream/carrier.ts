// What dispatch sees of the libraries that carry bytes to accounts.
import type { Headers } from '../turn/turn.ts';

export interface CarrierRequest {
  readonly method: string;
  /** Absolute path with any query, below the account's origin. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | null;
}

/**
 * Why an attempt brought no whole answer: `connect` (no connection), `connect_timeout` (none in time), `network` (it died),
 * `first_byte` (sent, no answer in time), `idle` (the answer fell silent), `malformed` (not HTTP, or an event past every bound).
 */
export type CarrierFailure = 'connect' | 'connect_timeout' | 'network' | 'first_byte' | 'idle' | 'malformed';

/** Called in order: head, data…, then exactly one of end or fail; nothing after `abort`. */
export interface ReplyHandler {
  head(status: number, headers: Headers): void;
  data(chunk: Buffer): void;
  end(): void;
  fail(failure: CarrierFailure): void;
}

/** The hold on an answer under way. */
export interface Sending {
  pause(): void;
  resume(): void;
  /** Drops the connection; the handler hears nothing more. */
  abort(): void;
}

export interface Carrier {
  send(request: CarrierRequest, handler: ReplyHandler): Sending;
  /** Ends idle connections at once, the others when their answers are over. */
  close(): Promise<void>;
  /** Ends every connection at once. */
  destroy(): Promise<void>;
}
