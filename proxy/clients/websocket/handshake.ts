// The handshake of a client's websocket. The gateway sets the headers of the answer, and refuses a handshake that is not valid.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { Refusal } from '../../turn/errors/refusal.ts';

export interface Handshake {
  readonly request: IncomingMessage;
  readonly socket: Socket;
  /** The bytes that came after the request. */
  readonly head: Buffer;
}

export interface HandshakeOptions {
  /** The most bytes of a message. */
  readonly maxPayload: number;
  /** The most fragments of a message. */
  readonly maxFragments: number;
  /** The headers of the answer that accepts the upgrade. */
  readonly headers: () => Readonly<Record<string, string>>;
  readonly accepted: (ws: WebSocket) => void;
  /** Called with a refusal, which has to be written to the socket. */
  readonly refused: (refusal: Refusal) => void;
}

/** Whether the request asks for a websocket. A server ignores all other upgrades. */
export const asksForWebsocket = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';

export function shakeHands(
  { request, socket, head }: Handshake,
  { maxPayload, maxFragments, headers, accepted, refused }: HandshakeOptions,
): void {
  const server = new WebSocketServer({ noServer: true, clientTracking: false, perMessageDeflate: false, maxPayload, maxFragments });
  server.on('headers', (lines) => {
    for (const [name, value] of Object.entries(headers())) lines.push(`${name}: ${value}`);
  });
  // Without a listener ws would answer in plain text.
  server.on('wsClientError', () =>
    refused(new Refusal('invalid_request', { message: 'The websocket handshake is not valid.', headers: VERSION })),
  );
  server.handleUpgrade(request, socket, head, accepted);
}

/** States the supported version to a client with another one (RFC 6455, 4.2.2). */
const VERSION = { 'sec-websocket-version': '13' };
