// What is known of a client's connection while it lasts: its last request, whether it is to be believed, and whose key it brought.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Generation } from '../../gateway/generation.ts';
import type { KeyConfig } from '../../turn/settings.ts';

export class ClientConnection {
  readonly socket: Socket;
  /** The answer to the request that its parser came to last. */
  latest: ServerResponse | undefined;
  /** It was refused for its bytes: nothing that still comes from it is a request. */
  framingBroken = false;
  /** What was looked up last. Agents say the same key request after request, and a digest costs more than the rest of the look-up. */
  #secret: string | undefined;
  #generation: Generation | undefined;
  #key: KeyConfig | undefined;

  constructor(socket: Socket) {
    this.socket = socket;
  }

  keyOf(secret: string, generation: Generation): KeyConfig | undefined {
    if (secret !== this.#secret || generation !== this.#generation) {
      this.#key = generation.keyOf(secret);
      this.#secret = secret;
      this.#generation = generation;
    }
    return this.#key;
  }
}

const CONNECTION = Symbol('connection');

/** Always the same for a socket. */
export function connectionOf(socket: Socket & { [CONNECTION]?: ClientConnection }): ClientConnection {
  socket[CONNECTION] ??= new ClientConnection(socket);
  return socket[CONNECTION];
}
