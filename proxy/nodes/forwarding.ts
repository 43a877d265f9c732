// Forwards a client's websocket through this node: its frames to the owner of its session, and the owner's frames to the client.
import type { WebSocket } from 'ws';
import { encodeMessage, type ForwardedMessage } from './forwarded-frame.ts';

/** The client's connection at this node. */
export interface ForwardedConnection {
  readonly isOpen: boolean;
  /** False if the client is slow; `onDrain` then reports when to continue. */
  send(frames: readonly Buffer[]): boolean;
  onDrain(resume: () => void): void;
  onClosed(closed: () => void): () => void;
  close(code: number, reason?: string): void;
  /** Stops and continues reading. */
  pause(): void;
  resume(): void;
}

/** The most bytes that the owner may leave unread. Above this mark the client's connection is paused, until they fall to the lower one. */
const FULL_BYTES = 1_048_576;
const LOW_BYTES = 262_144;

/** Close codes of RFC 6455 that are never sent. They report that there was no code, or that the connection broke. */
const NO_STATUS = 1005;
const ABNORMAL = 1006;
const NORMAL = 1000;
const GOING_AWAY = 1001;
const INTERNAL_ERROR = 1011;

export class Forwarding {
  /** Resolves when one side has ended. */
  readonly over: Promise<void>;
  readonly #client: ForwardedConnection;
  readonly #owner: WebSocket;
  #frames: Buffer[] = [];
  #clientPaused = false;

  constructor(client: ForwardedConnection, owner: WebSocket) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.over = promise;
    this.#client = client;
    this.#owner = owner;
    owner.on('message', (data: Buffer) => this.#fromOwner(data));
    const clientLeft = (): void => {
      this.#clientLeft();
      resolve();
    };
    const forget = client.onClosed(clientLeft);
    owner.once('close', (code, reason) => {
      forget();
      this.#ownerLeft(code, reason.toString());
      resolve();
    });
    if (!client.isOpen) clientLeft();
  }

  /** Bytes that the owner has not read yet. */
  get heldBytes(): number {
    return this.#owner.bufferedAmount;
  }

  send(message: ForwardedMessage): void {
    if (this.#owner.readyState !== this.#owner.OPEN) return;
    this.#owner.send(encodeMessage(message), () => this.#taken());
    if (this.#clientPaused || this.#owner.bufferedAmount < FULL_BYTES) return;
    this.#clientPaused = true;
    this.#client.pause();
  }

  #taken(): void {
    if (!this.#clientPaused || this.#owner.bufferedAmount > LOW_BYTES) return;
    this.#clientPaused = false;
    this.#client.resume();
  }

  /** Forwards frames of one read of the connection in one write. */
  #fromOwner(data: Buffer): void {
    if (this.#frames.push(data) === 1) queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    const frames = this.#frames;
    this.#frames = [];
    if (frames.length === 0 || this.#client.send(frames)) return;
    this.#owner.pause();
    this.#client.onDrain(() => this.#owner.resume());
  }

  /**
   * Ends the owner's connection. The owner detaches the turn, whose further frames have no reader and must not keep the connection open.
   */
  #clientLeft(): void {
    this.#owner.removeAllListeners('message');
    this.#owner.resume();
    this.#owner.close(GOING_AWAY);
  }

  /**
   * Closes the client's connection. If the owner's ended without a close frame, the owner has died, and the client may come back for its
   * turn.
   */
  #ownerLeft(code: number, reason: string): void {
    this.#flush();
    if (!this.#client.isOpen) return;
    if (code === ABNORMAL) this.#client.close(INTERNAL_ERROR, 'the reply broke off');
    else this.#client.close(code === NO_STATUS ? NORMAL : code, reason);
  }
}
