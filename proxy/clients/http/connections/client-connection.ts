// A client's connection while it lasts: its last answer, whether its framing broke, and the key of its last request.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { KeyConfig } from '../../../turn/settings.ts';

/** Looks keys up in one configuration. */
export interface KeyLookup {
  keyOf(secret: string): KeyConfig | undefined;
}

export class ClientConnection {
  readonly socket: Socket;
  /** It came by the gateway's socket in the file system. */
  isUnix = false;
  /** The answer to the request that its parser read last. */
  latest: ServerResponse | undefined;
  /** The HTTP version of its first request. */
  version: string | undefined;
  /** It was refused for its bytes: later bytes on it are not read as requests. */
  framingBroken = false;
  /** The answer that is being written is its last one: later bytes on it are not read as requests. */
  isLast = false;
  /** The last look-up. Agents send the same key with every request, and a digest costs more than the rest of the look-up. */
  #secret: string | undefined;
  #keys: KeyLookup | undefined;
  #key: KeyConfig | undefined;

  constructor(socket: Socket) {
    this.socket = socket;
  }

  /**
   * Whether bytes that are written to the socket now come after every answer: an answer that waits for an earlier one has no socket yet.
   */
  get isAnswered(): boolean {
    const { latest } = this;
    return !latest || latest.writableFinished || (latest.writableEnded && latest.socket !== null);
  }

  keyOf(secret: string, keys: KeyLookup): KeyConfig | undefined {
    if (secret !== this.#secret || keys !== this.#keys) {
      this.#key = keys.keyOf(secret);
      this.#secret = secret;
      this.#keys = keys;
    }
    return this.#key;
  }
}

const CONNECTION = Symbol('connection');

/** Returns the same object for the same socket. */
export function connectionOf(socket: Socket & { [CONNECTION]?: ClientConnection }): ClientConnection {
  socket[CONNECTION] ??= new ClientConnection(socket);
  return socket[CONNECTION];
}
