// The SSE stream of a client outside the native surface. While it is idle, a comment or a ping every 15 s keeps the connection open (Q17).
import type { ServerResponse } from 'node:http';
import type { Refusal } from '../../../turn/errors/refusal.ts';
import type { StreamedTurn } from '../../../turn/surface.ts';
import type { Event, Outcome } from '../../../turn/turn.ts';
import { SseSink } from './sse-sink.ts';

const EVERY_MS = 15_000;

export class KeepaliveSseSink extends SseSink {
  /** SDKs end a stream with an error if data is not JSON. */
  override readonly objectCheck = 'braces';
  protected readonly keepalive: string = ': keepalive\n\n';
  protected readonly turn: StreamedTurn;
  #wroteAt = 0;
  #cancel: () => void = () => undefined;

  constructor(response: ServerResponse, turn: StreamedTurn) {
    super(response);
    this.turn = turn;
  }

  override open(status: number, headers: Readonly<Record<string, string>>): void {
    super.open(status, headers);
    this.#wroteAt = this.turn.now();
    this.#keepIn(EVERY_MS);
    this.response.once('close', () => this.#cancel());
  }

  override flush(): boolean {
    this.#wroteAt = this.turn.now();
    return super.flush();
  }

  override close(closing: readonly (Event | Refusal)[], outcome: Outcome): void {
    this.#cancel();
    super.close(closing, outcome);
  }

  override cut(): void {
    this.#cancel();
    super.cut();
  }

  /** Sets the timer. It is set again when it fires, not with every write, because writes are frequent and silence is rare. */
  #keepIn(ms: number): void {
    this.#cancel = this.turn.after(ms, () => {
      const due = this.#wroteAt + EVERY_MS - this.turn.now();
      if (due <= 0) {
        this.write(this.keepalive);
        this.flush();
      }
      this.#keepIn(due > 0 ? due : EVERY_MS);
    });
  }
}
