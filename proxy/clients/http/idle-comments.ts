// Keeps a stream of the compatible surface open while it is idle: a comment every 15 s (Q17).
import type { LiveTurn } from '../../turn/live-turn.ts';

const EVERY_MS = 15_000;
const COMMENT = ': keepalive\n\n';

export class IdleComments {
  readonly #turn: Pick<LiveTurn, 'now' | 'after'>;
  readonly #write: (comment: string) => void;
  #wroteAt = 0;
  #cancel: () => void = () => undefined;

  constructor(turn: Pick<LiveTurn, 'now' | 'after'>, write: (comment: string) => void) {
    this.#turn = turn;
    this.#write = write;
  }

  start(): void {
    this.wrote();
    this.#commentIn(EVERY_MS);
  }

  /** Something was written: the stream is idle from this moment on. */
  wrote(): void {
    this.#wroteAt = this.#turn.now();
  }

  stop(): void {
    this.#cancel();
  }

  /** Armed again when it fires, not with every write: writes are many, silences few. */
  #commentIn(ms: number): void {
    this.#cancel = this.#turn.after(ms, () => {
      const due = this.#wroteAt + EVERY_MS - this.#turn.now();
      if (due <= 0) this.#write(COMMENT);
      this.#commentIn(due > 0 ? due : EVERY_MS);
    });
  }
}
