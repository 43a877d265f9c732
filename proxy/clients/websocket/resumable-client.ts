// The client of a native turn that may reconnect. Without it the turn continues for a while, and is passed to its next connection (Q29).
import type { Counters } from '../../base/process/metrics.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { Resumable } from '../../sessions/resumable-turns.ts';
import type { TurnIdentity } from '../../sessions/turn-identity.ts';
import type { JsonObject } from '../../turn/json/json.ts';
import type { LiveTurn } from '../../turn/live-turn.ts';
import type { Ending } from '../../turn/reply/turn-result.ts';
import type { SocketSlot } from '../../upstream/carriers/websocket/socket-slot.ts';
import { CLOSE } from './close-codes.ts';
import type { Frame } from './frame.ts';
import { FrameClient } from './frame-client.ts';
import { type LogMemory, TurnLog } from './turn-log.ts';
import type { WebsocketConnection } from './websocket-connection.ts';

/**
 * How long the frame of a turn is kept when the turn has ended. Most clients continue within this time, and the digests of their frames are
 * then not needed.
 */
const FRAME_KEPT_MS = 500;

export interface ResumableOptions {
  readonly identity: TurnIdentity;
  /** How long the turn continues, or is kept, without its client. */
  readonly windowMs: number;
  /** The memory limits for the frames that are kept. */
  readonly memory: LogMemory;
  /** Whether clients can reconnect. False when the gateway stops. */
  readonly canComeBack: () => boolean;
  readonly clock: Pick<Clock, 'after' | 'now'>;
  readonly counters: Counters;
  /** Called when the turn can no longer be resumed, while the client still has its connection. */
  readonly forget: (client: ResumableClient) => void;
}

export class ResumableClient extends FrameClient implements Resumable {
  readonly identity: TurnIdentity;
  readonly over: Promise<void>;
  readonly #options: ResumableOptions;
  readonly #log: TurnLog;
  readonly #setOver: () => void;
  /** How the turn ended. Set when its row is written. */
  #ending: Ending | undefined;
  #isDisowned = false;
  /** The upstream websocket while there is no connection. */
  #socket: SocketSlot | undefined;
  #cancelWindow: () => void = () => undefined;
  /** The time without the client before now. `#detachedAt` is when the client left. */
  #detachedMs = 0;
  #detachedAt: number | undefined;
  /** Ends the wait of the connection that has resumed the turn. Called without an ending if that connection has left. */
  #served: (ending?: Ending) => void = () => undefined;

  constructor(turn: LiveTurn, frame: Frame, connection: WebsocketConnection, options: ResumableOptions) {
    const log = new TurnLog(options.memory, () => this.#overflow());
    super(turn, frame, connection, log);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.identity = options.identity;
    this.over = promise;
    this.#setOver = resolve;
    this.#options = options;
    this.#log = log;
  }

  get detachedMs(): number | undefined {
    const { clock } = this.#options;
    const away = this.#detachedAt === undefined ? this.#detachedMs : this.#detachedMs + clock.now() - this.#detachedAt;
    return away === 0 && this.#detachedAt === undefined ? undefined : Math.round(away);
  }

  get isDetached(): boolean {
    return this.currentConnection === undefined;
  }

  get isOver(): boolean {
    return this.#ending !== undefined;
  }

  get sentItems(): readonly JsonObject[] {
    return this.#log.sentItems();
  }

  /** The bytes that are kept while the client is gone. */
  get keptBytes(): number {
    return this.isDetached ? this.#log.bytes : 0;
  }

  /** Continues the turn over this connection. @returns how it ended; undefined if the connection left before */
  async attach(connection: WebsocketConnection, items: number): Promise<Ending | undefined> {
    this.#cancelWindow();
    this.#detachedMs = this.detachedMs ?? 0;
    this.#detachedAt = undefined;
    this.#options.counters.add('turns_resumed');
    const former = this.currentConnection;
    if (former) {
      this.#leaveConnection(former);
      former.close(CLOSE.goingAway, 'resumed by another connection');
    }
    if (this.#socket) connection.takeOver(this.#socket);
    this.#socket = undefined;
    const { promise, resolve } = Promise.withResolvers<Ending | undefined>();
    this.#served = resolve;
    this.connect(connection);
    this.output.attach(connection, items);
    if (this.#ending) this.#finish(this.#ending);
    return promise;
  }

  /** Called when the turn's row is written. The turn is kept for a client that has not seen its end. */
  override ended(ending: Ending): void {
    this.#ending = ending;
    this.release();
    this.#setOver();
    this.#finish(ending);
  }

  /** Called when the client sent its next frame, because it has then seen the end of the turn. */
  acknowledged(): void {
    if (this.isOver) this.#forget();
  }

  cancel(): void {
    this.#forget();
    this.leave();
  }

  disown(): void {
    this.#isDisowned = true;
    if (this.isDetached) this.cancel();
    else this.#forget();
  }

  protected override disconnected(connection: WebsocketConnection): void {
    this.#leaveConnection(connection);
    if (this.isOver) return;
    if (!this.#isResumable) {
      this.cancel();
      return;
    }
    this.#options.counters.add('turns_detached');
    this.#detachedAt = this.#options.clock.now();
    this.#startWindow();
  }

  get #isResumable(): boolean {
    return !this.#isDisowned && !this.#log.isClosed && this.#options.canComeBack();
  }

  #leaveConnection(connection: WebsocketConnection): void {
    this.disconnect();
    this.#socket = connection.handOver();
    this.output.detach();
    this.#served();
  }

  #finish(ending: Ending): void {
    this.#served(ending);
    // A refused turn is not kept, because a client that sends it differently must not get the same refusal again.
    if (!this.output.isComplete || !this.#isResumable) this.#forget();
    else this.#startWindow();
  }

  #startWindow(): void {
    const { clock, windowMs } = this.#options;
    const end = clock.now() + windowMs;
    this.#cancelWindow();
    this.#cancelWindow = clock.after(Math.min(FRAME_KEPT_MS, windowMs), () => {
      this.identity.releaseFrame();
      const left = end - clock.now();
      if (left > 0) this.#cancelWindow = clock.after(left, () => this.#expire());
      else this.#expire();
    });
  }

  #expire(): void {
    if (!this.isOver) this.#options.counters.add('detached_turns_expired');
    this.cancel();
  }

  /** Called when the log has no room. With a connected client the turn continues, but cannot be resumed. Without one it ends. */
  #overflow(): void {
    if (!this.isDetached) {
      this.#forget();
      return;
    }
    this.#options.counters.add('detached_turns_too_large');
    // Delayed, because the event that exceeded the limit is still being handled.
    queueMicrotask(() => this.cancel());
  }

  #forget(): void {
    this.#cancelWindow();
    this.#options.forget(this);
    if (this.isOver) this.disconnect();
    this.#socket?.end();
    this.#socket = undefined;
    this.#log.close();
  }
}
