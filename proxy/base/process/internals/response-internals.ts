// What Node does not document of an answer: its framing, and its connection.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Turns off the chunked encoding after the head was written, so that the writer can frame the chunks. Node writes each chunk in four
 * pieces, at twice the cost.
 * @returns whether the answer is chunked
 */
export function takeOverChunking(response: ServerResponse): boolean {
  const chunked = response.chunkedEncoding;
  response.chunkedEncoding = false;
  return chunked;
}

/** Makes an answer, written or not, the last one of its connection. Node has no documented way to do this after the headers were set. */
export function endConnectionAfter(response: ServerResponse): void {
  response.shouldKeepAlive = false;
}

/**
 * Calls back with the connection of an answer. The answer to a pipelined request has none until the answers before it are written. Node
 * announces it with an undocumented event, just before it sends what the answer has buffered.
 * @param then called with the connection, at once or when it is announced; never if the connection ends before
 */
export function whenConnected(response: ServerResponse, then: (socket: Socket) => void): void {
  if (response.socket) then(response.socket);
  else response.once('socket', (socket: Socket) => process.nextTick(then, socket));
}

/** Whether the connection stays open after the answer. */
export const keepsConnection = (response: ServerResponse): boolean => response.shouldKeepAlive;
