// The frames of one turn on their way to its client: gathered, then sent in one write.
import { CLOSE, type WebsocketConnection } from './connection.ts';

export class TurnOutput {
  readonly #connection: WebsocketConnection;
  #frames: (string | Buffer)[] = [];
  #shown = false;

  constructor(connection: WebsocketConnection) {
    this.#connection = connection;
  }

  /** Whether a frame of the turn was sent. */
  get shown(): boolean {
    return this.#shown;
  }

  write(_type: string, frame: string | Buffer): void {
    this.#frames.push(frame);
    this.#shown = true;
  }

  /** False: the client is slow, and `onDrain` says when to go on. */
  flush(): boolean {
    const frames = this.#frames;
    if (frames.length === 0) return true;
    this.#frames = [];
    return this.#connection.send(frames);
  }

  onDrain(resume: () => void): void {
    this.#connection.onDrain(resume);
  }

  /** Ends the connection, so that no client takes the reply for complete (Q17). */
  breakOff(): void {
    this.#connection.close(CLOSE.internalError, 'the reply broke off');
  }
}
