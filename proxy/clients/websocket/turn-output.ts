// Sends the frames of one turn to its client. They are gathered and sent in one write.
import type { OutcomeKind } from '../../turn/turn.ts';
import { CLOSE } from './close-codes.ts';
import type { TurnLog } from './turn-log.ts';
import type { WebsocketConnection } from './websocket-connection.ts';

export class TurnOutput {
  readonly #log: TurnLog | undefined;
  /** Undefined while the turn runs without its client. */
  #connection: WebsocketConnection | undefined;
  #frames: (string | Buffer)[] = [];
  #shown = false;
  #outcome: OutcomeKind | undefined;
  /** Continues a reply that waits for a slow client. */
  #resume: (() => void) | undefined;

  /** @param log the log of a turn that can be resumed */
  constructor(connection: WebsocketConnection, log: TurnLog | undefined) {
    this.#connection = connection;
    this.#log = log;
  }

  /** Whether a frame of the turn was sent. */
  get shown(): boolean {
    return this.#shown;
  }

  /** Whether the client got a whole reply, or can get one. */
  get isComplete(): boolean {
    return this.#outcome === 'completed' || this.#outcome === 'incomplete';
  }

  write(type: string, frame: string | Buffer): void {
    this.#log?.add(type, frame);
    if (this.#connection) this.#frames.push(frame);
    this.#shown = true;
  }

  /** False if the client is slow; `onDrain` then reports when to continue. */
  flush(): boolean {
    const frames = this.#frames;
    if (!this.#connection || frames.length === 0) return true;
    this.#frames = [];
    this.#log?.markSent();
    return this.#connection.send(frames);
  }

  onDrain(resume: () => void): void {
    if (!this.#connection) {
      resume();
      return;
    }
    this.#resume = resume;
    this.#connection.onDrain(() => this.#drained());
  }

  /** Called when the reply has ended. */
  ended(outcome: OutcomeKind): void {
    this.#outcome = outcome;
  }

  /** Ends the connection, so that no client takes the reply for complete (Q17). */
  breakOff(): void {
    this.#outcome = 'cut';
    this.#connection?.close(CLOSE.internalError, 'the reply broke off');
  }

  /** Continues without the client, which is gone. */
  detach(): void {
    this.#connection = undefined;
    this.#frames = [];
    this.#drained();
  }

  /**
   * Continues with a client that has reconnected. It gets the turn from its beginning, without the items that it has, and then all further
   * frames.
   */
  attach(connection: WebsocketConnection, items: number): void {
    this.#connection = connection;
    connection.send(this.#log?.framesAfter(items) ?? []);
    this.#log?.markSent();
  }

  #drained(): void {
    const resume = this.#resume;
    this.#resume = undefined;
    resume?.();
  }
}
