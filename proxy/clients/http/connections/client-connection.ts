// A client's connection: its last answer, whether its framing is broken, and the key of its last request.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { KeyConfig } from '../../../turn/settings.ts';

/** Looks keys up in one configuration. */
export interface KeyLookup {
  keyOf(secret: string): KeyConfig | undefined;
}

export class ClientConnection {
  readonly socket: Socket;
  /** Whether the connection came over the gateway's socket in the file system. */
  isUnix = false;
  /** The answer to the last request that the parser has read. */
  latest: ServerResponse | undefined;
  /** The HTTP version of the first request. */
  version: string | undefined;
  /** Whether the connection was refused because of its bytes. Later bytes are then not read as requests. */
  framingBroken = false;
  /** Whether the answer that is being written is the last one. Later bytes are then not read as requests. */
  isLast = false;
  /**
   * The secret and the key of the last look-up. Agents send the same key with every request, and a digest costs more than the rest of the
   * look-up.
   */
  #secret: string | undefined;
  #keys: KeyLookup | undefined;
  #key: KeyConfig | undefined;

  constructor(socket: Socket) {
    this.socket = socket;
  }

  /** Whether bytes that are written to the socket now come after all answers. An answer that waits for an earlier one has no socket yet. */
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
