// Joins the small pieces of a request's body. A client may send it byte by byte, and each stream on the way to the account would hold an
// object for each piece.
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { GatheredBytes } from '../../../base/bytes/gathered-bytes.ts';
import { stopReading } from '../../../base/process/internals/request-reading.ts';

/** The size from which a piece is passed on at once. */
const PIECE_BYTES = 16_384;
/** How long a smaller piece waits for more bytes. At the end of the body it does not wait. */
const JOIN_MS = 20;
/** The number of waiting bytes at which the client's connection is no longer read. */
const FULL_BYTES = 65_536;

export class JoinedBody extends Readable {
  readonly #request: IncomingMessage;
  readonly #gathered = new GatheredBytes();
  #isWanted = false;
  #hasEnded = false;
  #timer: NodeJS.Timeout | undefined;
  /** Continues reading the client's connection. */
  #readOn: (() => void) | undefined;

  constructor(request: IncomingMessage) {
    // At most one piece waits after another one.
    super({ highWaterMark: 1 });
    this.#request = request;
    request.on('data', this.#add).once('end', this.#end);
  }

  /** The bytes that wait for the reader. */
  get heldBytes(): number {
    return this.#gathered.held + this.readableLength;
  }

  /** Whether the client cannot send more, because the reader reads nothing. */
  get isFull(): boolean {
    return this.#readOn !== undefined;
  }

  override _read(): void {
    this.#isWanted = true;
    this.#offer(this.#hasEnded ? 0 : PIECE_BYTES);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#timer);
    this.#gathered.clear();
    this.#request.off('data', this.#add).off('end', this.#end);
    this.#open();
    if (!this.#hasEnded) dropRest(this.#request);
    done(error);
  }

  readonly #add = (chunk: Buffer): void => {
    this.#gathered.add(chunk);
    if (this.#gathered.length >= FULL_BYTES) this.#readOn ??= stopReading(this.#request);
    this.#offer(PIECE_BYTES);
  };

  readonly #end = (): void => {
    this.#hasEnded = true;
    this.#open();
    this.#offer(0);
  };

  /** @param least the size below which a piece waits */
  #offer(least: number): void {
    if (!this.#isWanted) return;
    const { length } = this.#gathered;
    if (length > 0 && length < least) {
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        this.#offer(0);
      }, JOIN_MS);
      return;
    }
    if (length > 0) {
      this.#isWanted = false;
      const piece = this.#gathered.take();
      if (!this.#hasEnded) this.#open();
      this.push(piece);
    } else if (this.#hasEnded) this.push(null);
  }

  #open(): void {
    this.#readOn?.();
    this.#readOn = undefined;
  }
}

/** Drops what arrives, so that the end of the connection is noticed. A client that sends much more waits until another reader continues. */
function dropRest(request: IncomingMessage): void {
  let dropped = 0;
  const drop = ({ length }: Buffer): void => {
    dropped += length;
    if (dropped < FULL_BYTES) return;
    request.off('data', drop).pause();
    request.once('resume', stopReading(request));
  };
  request.on('data', drop);
}
