// One turn on an account's websocket: its frame, then the frames of the reply up to the terminal one.
import type { IncomingMessage } from 'node:http';
import { Timed } from '../../../base/time/idle-timeouts.ts';
import type { CarrierFailure } from '../../../turn/errors/failure.ts';
import { TypePeek } from '../../../turn/reply/event-bytes.ts';
import { ReplyEvent } from '../../../turn/reply/reply-event.ts';
import type { ByteReader, EventReader, ReplyHandler, ReplyLine, Sending, Waits } from '../carrier.ts';
import { FollowingFrames } from './following-frames.ts';
import type { SocketUser } from './socket-user.ts';
import { joinedHeaders, type UpstreamSocket } from './upstream-socket.ts';

/** The status of an accepted upgrade, which is the head of every reply of frames. */
export const SWITCHING_PROTOCOLS = 101;

export class WebsocketExchange extends Timed implements Sending, ReplyLine, SocketUser {
  readonly memory: EventReader['memory'];
  readonly #socket: UpstreamSocket;
  readonly #frame: Buffer;
  readonly #handler: ReplyHandler<EventReader | ByteReader>;
  readonly #waits: Waits;
  readonly #types = new TypePeek();
  /** Reused for every frame. */
  readonly #event = new ReplyEvent();
  /** Set when the first frame of the reply arrives. */
  #reader: EventReader | ByteReader | undefined;
  #paused = false;
  #over = false;
  #following: FollowingFrames | undefined;
  #follows: FollowingFrames | undefined;

  constructor(
    socket: UpstreamSocket,
    frame: Buffer,
    handler: ReplyHandler<EventReader | ByteReader>,
    { waits, memory }: { readonly waits: Waits; readonly memory: EventReader['memory'] },
  ) {
    super();
    this.memory = memory;
    this.#socket = socket;
    this.#frame = frame;
    this.#handler = handler;
    this.#waits = waits;
    const { user } = socket;
    socket.use(this);
    if (user instanceof FollowingFrames) this.#continue(user);
    else if (socket.isOpen) this.opened();
  }

  get follows(): SocketUser | undefined {
    return this.#follows;
  }

  get line(): ReplyLine {
    return this;
  }

  send(frame: Buffer): void {
    if (!this.#over) this.#socket.send(frame);
  }

  followedBy(reader: FollowingFrames): void {
    this.#following = reader;
  }

  opened(): void {
    this.#waits.head.watch(this);
    this.#socket.send(this.#frame);
  }

  refused(response: IncomingMessage): void {
    const { statusCode = 0, headers } = response;
    // The account ignored the upgrade and answered with a page of its own.
    if (statusCode < 300) {
      this.#fail('malformed');
      return;
    }
    const reader = this.#handler.head(statusCode, joinedHeaders(headers));
    this.#reader = reader;
    if (reader.reads !== 'bytes') this.abort();
    if (this.#over || reader.reads !== 'bytes') return;
    this.#waits.data.watch(this);
    response.on('data', (chunk: Buffer) => reader.data(chunk));
    response.once('error', () => this.#fail('network'));
    response.once('end', () => {
      if (!this.#finish()) return;
      this.#socket.destroy();
      reader.end();
    });
  }

  frame(bytes: Buffer): void {
    this.quietTicks = 0;
    const reader = this.#readerOf();
    if (this.#over) return;
    const event = this.#event;
    event.bytes = bytes;
    event.end = bytes.length;
    event.dataStart = 0;
    event.dataEnd = bytes.length;
    event.hasData = true;
    event.type = this.#types.typeIn(bytes, 0, bytes.length) ?? '';
    event.completeType();
    // The reader decides, because a frame of a terminal type that is not JSON does not end the reply.
    const end = reader.event(event);
    event.clear();
    if (this.#over) return;
    if (end === undefined) {
      reader.delivered();
      return;
    }
    this.#finish();
    // A `response.failed` may follow an error, and the next turn on the socket would read it as its own.
    if (end === 'failed') this.#socket.destroy();
    reader.delivered();
    reader.end();
  }

  ended(failure: CarrierFailure): void {
    this.#fail(failure);
  }

  pause(): void {
    if (this.#over) return;
    this.#paused = true;
    this.#socket.pause();
  }

  resume(): void {
    if (this.#over) return;
    this.#paused = false;
    this.quietTicks = 0;
    this.#socket.resume();
  }

  /** Closes the connection, because the protocol has no frame that cancels a turn. */
  abort(): void {
    if (this.#finish()) this.#socket.destroy();
  }

  timedOut(): void {
    if (this.#paused) this.quietTicks = 0;
    else this.#fail(this.#reader ? 'idle' : 'first_byte');
  }

  /** Continues a response that has begun: its first frames arrived before this turn. */
  #continue(before: FollowingFrames): void {
    this.#waits.head.watch(this);
    this.#follows = before;
    const frames = before.take();
    // Delayed, so that the attempt first gets control of its reply.
    queueMicrotask(() => {
      for (const bytes of frames) this.#socket.user?.frame(bytes);
      if (!this.#paused) this.#socket.resume();
    });
  }

  #readerOf(): EventReader {
    if (!this.#reader) {
      this.endWait();
      this.#waits.data.watch(this);
      this.#reader = this.#handler.head(SWITCHING_PROTOCOLS, this.#socket.takeHeaders());
    }
    // The attempt failed inside `head`, and its reader must get nothing more.
    return this.#reader.reads === 'events' ? this.#reader : DISCARD;
  }

  #fail(failure: CarrierFailure): void {
    if (!this.#finish()) return;
    this.#socket.destroy();
    (this.#reader ?? this.#handler).fail(failure);
  }

  #finish(): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.endWait();
    // A paused socket would not notice its end.
    if (this.#paused) this.#socket.resume();
    if (this.#following) {
      this.#following.begin(this.#socket, this);
      this.#socket.use(this.#following);
    } else this.#socket.leave();
    return true;
  }
}

const nothing = (): void => undefined;
const DISCARD: EventReader = {
  reads: 'events',
  memory: { hold: nothing, release: nothing },
  event: () => undefined,
  delivered: nothing,
  end: nothing,
  fail: nothing,
};
