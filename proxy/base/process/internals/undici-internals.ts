// What the gateway changes inside undici: memory that it holds for a reply, and an answer at which it ends the connection.
import type { Dispatcher, Pool } from 'undici';

/**
 * Drops the raw headers that undici keeps on its controller, together with the first chunk of the reply, while the reply lasts. An idle
 * stream would hold that memory, although the headers are not read again.
 */
export function releaseRawHeaders(controller: Dispatcher.DispatchController): void {
  controller.rawHeaders = null;
}

/** The parts of undici's connection that `passContinue` uses, by the descriptions of their symbols. */
type Internals = Readonly<Record<symbol, unknown>>;
type InterimParser = { onHeadersComplete(status: number, upgrade: boolean, keepAlive: boolean): number };

const member = (object: unknown, symbol: string): unknown => {
  const found = Object.getOwnPropertySymbols(object).find(({ description }) => description === symbol);
  return found && (object as Internals)[found];
};

/**
 * Makes `100 Continue` an interim answer, which the caller ignores. undici ends the connection at one that it did not ask for, although a
 * server may send it (RFC 9110, 15.2.1).
 */
export function passContinue(pool: Pool): void {
  pool.on('connect', (_origin, targets) => {
    const parser = member(member(targets.at(-1), 'socket'), 'parser') as InterimParser;
    const { onHeadersComplete } = parser;
    parser.onHeadersComplete = (status, upgrade, keepAlive) =>
      onHeadersComplete.call(parser, status === 100 ? 102 : status, upgrade, keepAlive);
  });
}
