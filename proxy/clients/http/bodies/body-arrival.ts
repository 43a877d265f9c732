// The arrival of one request body: counts its bytes and small pieces, and ends it if the client is silent, leaves, or sends something that
// is not HTTP.
import type { IncomingMessage } from 'node:http';
import type { Counters } from '../../../base/process/metrics.ts';
import { Refusal } from '../../../turn/errors/refusal.ts';
import { ReadPace } from './read-pace.ts';

/** Emitted on a request whose body is not valid HTTP. Later bytes of its connection are not requests. */
export const BODY_MALFORMED = Symbol('malformed body');

/** The size up to which a body may expand at any ratio. */
const RATIO_FREE_BYTES = 65_536;

/** A smaller piece takes much more time than its bytes. */
const SMALL_BYTES = 64;

export interface ArrivalOptions {
  /** The longest silence of the client. */
  readonly idleMs: number;
  /** The most pieces of less than `SMALL_BYTES`. */
  readonly smallPieces: number;
  readonly counters: Counters;
  /** The client's key. Bodies in small pieces are read fairly between keys. */
  readonly key?: string | undefined;
  /** Whether the client's silence does not count, because it cannot send more or what it sent is still being decoded. */
  readonly isBusy: () => boolean;
  /** Called after every chunk. */
  readonly arrived?: () => void;
  /** Called when the connection has closed, perhaps after the whole body. */
  readonly closed: () => void;
  readonly malformed: () => void;
  readonly refuse: (refusal: Refusal) => void;
}

export class BodyArrival {
  /** The number of bytes as they came, before decoding. */
  bytes = 0;
  /** Whether the whole body was read. */
  hasEnded = false;
  readonly #request: IncomingMessage;
  readonly #options: ArrivalOptions;
  readonly #idle: NodeJS.Timeout;
  readonly #pace: ReadPace;
  #lastLook: NodeJS.Immediate | undefined;
  #smallPieces = 0;

  constructor(request: IncomingMessage, options: ArrivalOptions) {
    this.#request = request;
    this.#options = options;
    this.#idle = setTimeout(() => this.#silent(), options.idleMs);
    this.#pace = new ReadPace(request, options.key ?? '');
    request.on('data', this.#arrived).once('end', this.#ended).once('close', options.closed).once(BODY_MALFORMED, options.malformed);
  }

  /** Whether the decoded bytes exceed what honest compression makes of the bytes that have arrived. */
  isBomb(decoded: number, expansionRatio: number): boolean {
    return decoded > RATIO_FREE_BYTES && decoded > this.bytes * expansionRatio;
  }

  stop(): void {
    const { closed, malformed } = this.#options;
    clearTimeout(this.#idle);
    clearImmediate(this.#lastLook);
    this.#request.off('data', this.#arrived).off('end', this.#ended).off('close', closed).off(BODY_MALFORMED, malformed);
  }

  readonly #arrived = ({ length }: Buffer): void => {
    this.bytes += length;
    this.#idle.refresh();
    this.#pace.piece(length);
    if (length < SMALL_BYTES) this.#smallPiece();
    this.#options.arrived?.();
  };

  readonly #ended = (): void => {
    this.hasEnded = true;
  };

  #smallPiece(): void {
    const { smallPieces, counters, refuse } = this.#options;
    this.#smallPieces += 1;
    // The rest of the read with the piece that was one too many may arrive after the refusal.
    if (this.#smallPieces !== smallPieces + 1) return;
    counters.add('body_pieces_refused');
    refuse(new Refusal('request_too_large', { message: 'The request body has more small pieces than this gateway accepts.' }));
  }

  #silent(): void {
    const { isBusy, counters, refuse } = this.#options;
    if (this.#pace.isWaiting || isBusy()) {
      this.#idle.refresh();
      return;
    }
    const { bytes } = this;
    // What came during a pause of the process is read only after this timer.
    this.#lastLook = setImmediate(() => {
      if (this.bytes > bytes || this.hasEnded) return;
      counters.add('body_timeouts');
      refuse(new Refusal('request_timeout'));
    });
  }
}
