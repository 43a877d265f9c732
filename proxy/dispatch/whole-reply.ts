// A reply that is one body: a JSON answer, or a refusal with a status; read within a bound, then judged.

import { carrierFailure, type Failure, inBandFailure, loggedCode, statusFailure } from '../turn/failure.ts';
import type { JsonObject } from '../turn/json.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import { Refusal, refusalOf } from '../turn/refusal.ts';
import { failureWithoutOwner } from '../turn/sanitise.ts';
import type { Head, Headers, OutcomeKind } from '../turn/turn.ts';
import type { CarrierFailure } from '../upstream/carrier.ts';
import type { ReplyContext } from './reply.ts';
import type { Client } from './sink.ts';

/** Enough for any provider's error; what is longer is no error that anybody wrote. */
const MAX_ERROR_BYTES = 65_536;

export class WholeReply {
  readonly #context: ReplyContext;
  readonly #client: Client;
  readonly #status: number;
  readonly #upstreamHeaders: Headers;
  readonly #head: Head;
  readonly #chunks: Buffer[] = [];
  readonly #max: number;
  #bytes = 0;
  #over = false;

  constructor(status: number, upstreamHeaders: Headers, head: Head, client: Client, context: ReplyContext) {
    this.#context = context;
    this.#client = client;
    this.#status = status;
    this.#upstreamHeaders = upstreamHeaders;
    this.#head = head;
    this.#max = status < 300 ? context.turn.limits.upstream_event_bytes : MAX_ERROR_BYTES;
  }

  data(chunk: Buffer): void {
    if (this.#over) return;
    this.#bytes += chunk.length;
    if (this.#bytes <= this.#max) {
      this.#chunks.push(chunk);
      return;
    }
    this.#context.counters.add('upstream_events_too_large');
    this.#context.sending().abort();
    this.#over = true;
    if (this.#status >= 300) this.#judge(Buffer.alloc(0));
    else this.#context.settle({ kind: 'failed', failure: carrierFailure('malformed') });
  }

  end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#judge(this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks, this.#bytes));
  }

  fail(failure: CarrierFailure): void {
    if (this.#over) return;
    this.#over = true;
    // The status alone says enough of a refusal whose body never came.
    if (this.#status >= 300) this.#judge(Buffer.alloc(0));
    else this.#context.settle({ kind: 'failed', failure: carrierFailure(failure) });
  }

  /** Nothing of a whole answer is shown before it is judged, and then its turn is over. */
  readonly shown = false;

  abandon(): void {
    this.#over = true;
  }

  #judge(body: Buffer): void {
    const { turn, settle, retries } = this.#context;
    if (this.#status >= 300) {
      settle({ kind: 'failed', failure: statusFailure(this.#status, this.#upstreamHeaders, body, turn.now()) });
      return;
    }
    const text = body.toString('utf8');
    const json = jsonIn(text);
    const refusal = json && refusesInside(json) ? inBandFailure(json, turn.now()) : undefined;
    if (refusal && (!turn.native || retries(refusal))) {
      settle({ kind: 'failed', failure: refusal });
      return;
    }
    // Compatible turns go out as streams: one body is an answer only where a stream would have been collected anyway.
    if (!turn.native && (!json || this.#client.streams)) {
      settle({ kind: 'failed', failure: carrierFailure('malformed') });
      return;
    }
    this.#context.committed();
    if (json && !refusal) this.#context.evidence.answer(json);
    try {
      // As the text that was judged: it leaves in one piece with its head, which bytes do not.
      this.#answer(json ? text : body, json, refusal, turn);
      settle({ kind: 'done', ...(refusal ? { failure: refusal } : {}) });
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) turn.fault(thrown);
      settle({ kind: 'refused', refusal: refusalOf(thrown) });
    }
  }

  /** @param refusal that a native client gets as the provider's answer */
  #answer(body: Buffer | string, json: JsonObject | undefined, refusal: Failure | undefined, turn: LiveTurn): void {
    turn.rules.head(this.#head);
    const shown = json && refusal ? failureWithoutOwner(json, turn.secrets()) : json;
    const answer = shown && turn.rules.answer(shown);
    this.#client.answer(this.#status, this.#head.headers, answer === json || answer === undefined ? body : JSON.stringify(answer));
    const kind = json ? kindOf(json) : 'completed';
    turn.end({ outcome: { kind, shown: true }, status: this.#status, code: refusal ? loggedCode(refusal.error.code) : null });
  }
}

function jsonIn(text: string): JsonObject | undefined {
  try {
    const json: unknown = JSON.parse(text);
    return typeof json === 'object' && json !== null && !Array.isArray(json) ? (json as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

/** `"error": null` is no error (Q15). */
const refusesInside = (json: JsonObject): boolean => (typeof json.error === 'object' && json.error !== null) || json.status === 'failed';

const kindOf = (json: JsonObject): OutcomeKind => {
  if (refusesInside(json)) return 'failed';
  return json.status === 'incomplete' ? 'incomplete' : 'completed';
};
