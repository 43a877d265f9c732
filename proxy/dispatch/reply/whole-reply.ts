// A reply that is one body: a JSON answer, or a refusal with a status. It is read within a limit, then checked as a whole.
import { isUtf8 } from 'node:buffer';
import { GatheredBytes } from '../../base/bytes/gathered-bytes.ts';
import { joinInParts } from '../../base/bytes/join-in-parts.ts';
import { type CarrierFailure, carrierFailure } from '../../turn/errors/failure.ts';
import { Refusal, refusalOf } from '../../turn/errors/refusal.ts';
import { type JsonObject, parsedObject } from '../../turn/json/json.ts';
import { scanOf } from '../../turn/json/json-bounds.ts';
import { LARGE, parseLargeJson } from '../../turn/json/large-json.ts';
import { lowerType } from '../../turn/json/media-type.ts';
import { PARSED_COPIES, TooMuchHeld } from '../../turn/reply/held-bytes.ts';
import type { Head, Headers } from '../../turn/turn.ts';
import type { ByteReader } from '../../upstream/carriers/carrier.ts';
import type { Client } from '../client.ts';
import { FailedFollowUp } from '../follow-up.ts';
import { failureIn, verdictOnAnswer } from './checked-answer.ts';
import type { ReplyContext } from './reply-context.ts';
import { verdictOnTurn } from './turn-answer.ts';

/** The most bytes of a refusal. It is more than any provider's error. */
const MAX_ERROR_BYTES = 65_536;

const NO_BODY = Buffer.alloc(0);

export class WholeReply implements ByteReader {
  readonly reads = 'bytes';
  /** Nothing of a whole reply is shown before its turn is over. */
  readonly shown = false;
  readonly #context: ReplyContext;
  readonly #client: Client;
  /** The headers as the account sent them. */
  readonly #upstreamHeaders: Headers;
  readonly #head: Head;
  readonly #chunks = new GatheredBytes();
  #bytes = 0;
  #over = false;
  #cancelTimer: () => void = () => undefined;
  #parsing: AbortController | undefined;

  constructor(upstreamHeaders: Headers, head: Head, client: Client, context: ReplyContext) {
    this.#context = context;
    this.#client = client;
    this.#upstreamHeaders = upstreamHeaders;
    this.#head = head;
    const { turn } = context;
    if (this.#refused) this.#cancelTimer = turn.after(turn.timeouts.upstream_refusal_ms, () => this.#refusalLate());
  }

  data(chunk: Buffer): void {
    if (this.#over) return;
    this.#bytes += chunk.length;
    if (this.#holds(this.#chunks.add(chunk))) return;
    this.#context.counters.add('upstream_events_too_large');
    this.#context.sending.abort();
    this.fail('too_large');
  }

  end(): void {
    if (this.#over) return;
    this.#cancelTimer();
    if (this.#refused) {
      const body = this.#chunks.take();
      this.#judge(() => this.#refuse(body));
    } else if (this.#bytes >= LARGE.bytes) void this.#judgeInParts((key, signal) => joinInParts(this.#chunks, key, signal));
    else {
      const body = this.#chunks.take();
      const scan = scanOf(body, this.#context.turn.limits.json_values, LARGE.values);
      if (typeof scan === 'string') this.#tooDense();
      else if (scan && scan.values >= LARGE.values) void this.#judgeInParts(async () => body);
      else this.#judgeText(body);
    }
  }

  fail(failure: CarrierFailure): void {
    if (this.#over) return;
    this.abandon();
    if (failure === 'idle') this.#context.counters.add('upstream_idle_timeouts');
    // Without its body a refusal is described only by its status.
    if (this.#refused) this.#judge(() => this.#refuse(NO_BODY));
    else this.#context.settle({ kind: 'failed', failure: carrierFailure(failure) });
  }

  abandon(): void {
    this.#over = true;
    this.#cancelTimer();
    this.#parsing?.abort();
  }

  /** Decides without the body of a refusal, if the body does not end in time. */
  #refusalLate(): void {
    this.abandon();
    this.#context.counters.add('upstream_refusals_cut');
    this.#context.sending.abort();
    this.#judge(() => this.#refuse(NO_BODY));
  }

  get #refused(): boolean {
    const { status } = this.#head;
    const isAny = this.#context.turn.dispatchedKind?.answeredBy === '2xx';
    return isAny ? status < 200 || status > 299 : status !== 200;
  }

  /** The head of an answer. On the compatible surface it does not depend on which success status the provider sent. */
  get #answerHead(): Head {
    return this.#context.turn.surface.relaysWholeAnswers ? this.#head : { ...this.#head, status: 200 };
  }

  /**
   * @param bytes the number by which the memory of the parts grows
   * @returns whether there is room for it, and for the copies of all parts so far
   */
  #holds(bytes: number): boolean {
    if (this.#refused) return this.#bytes <= MAX_ERROR_BYTES;
    const { held } = this.#context.turn;
    try {
      held.hold(bytes);
      held.allow(PARSED_COPIES * this.#bytes);
      return true;
    } catch (thrown) {
      if (thrown instanceof TooMuchHeld) return false;
      throw thrown;
    }
  }

  #tooDense(): void {
    this.abandon();
    this.#context.counters.add('upstream_events_too_large');
    this.#context.settle({ kind: 'failed', failure: carrierFailure('too_large') });
  }

  #judgeText(body: Buffer): void {
    const text = body.toString('utf8');
    this.#judge(() => this.#settle(parsedObject(text), text, body));
  }

  /** Joins and parses the body in parts. The client may leave during this work. */
  async #judgeInParts(join: (key: string, signal: AbortSignal) => Promise<Buffer>): Promise<void> {
    const { turn } = this.#context;
    this.#parsing = new AbortController();
    const { signal } = this.#parsing;
    const key = turn.identity?.key.id ?? '';
    const body = await join(key, signal).catch(() => NO_BODY);
    const json = await parseLargeJson(body, { key, maxValues: turn.limits.json_values, signal }).catch(() => undefined);
    if (this.#over) return;
    if (typeof json === 'string') this.#tooDense();
    else this.#judge(() => this.#settle(json, isUtf8(body) ? body : body.toString('utf8'), body));
  }

  #judge(settles: () => void): void {
    this.abandon();
    try {
      settles();
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) this.#context.turn.fault(thrown);
      this.#context.settle({ kind: 'refused', refusal: refusalOf(thrown) });
    }
  }

  #refuse(body: Buffer): void {
    const { turn, provider, sent } = this.#context;
    const answer = { status: this.#head.status, headers: this.#upstreamHeaders, body };
    this.#context.settle({ kind: 'failed', failure: provider.failures.ofStatus(answer, { now: turn.now(), sent }) });
  }

  /** @param json undefined for a body that is not a JSON object @param text what a client gets of it @param body the body as it came */
  #settle(json: JsonObject | undefined, text: string | Buffer, body: Buffer): void {
    const context = this.#context;
    if (context.turn.dispatchedKind?.reply === 'whole') {
      this.#check(json, text, body);
      return;
    }
    context.settle(verdictOnTurn(json, text, { head: this.#head, client: this.#client, context }));
  }

  #check(json: JsonObject | undefined, text: string | Buffer, body: Buffer): void {
    const context = this.#context;
    const { turn, followUp } = context;
    const reply = { head: this.#answerHead, client: this.#client, context };
    if (!json && this.#isText) this.#passText(body);
    else if (!json || !followUp || failureIn(json, context)) context.settle(verdictOnAnswer(json, text, reply));
    else {
      followUp(json)
        .then((answer) => context.settle(verdictOnAnswer(answer, answer === json ? text : JSON.stringify(answer), reply)))
        .catch((thrown: unknown) => {
          if (!(thrown instanceof Refusal)) turn.fault(thrown);
          const errorClass = thrown instanceof FailedFollowUp ? thrown.errorClass : undefined;
          context.settle({ kind: 'refused', refusal: refusalOf(thrown), errorClass });
        });
    }
  }

  /** Whether the answer is text, such as a transcript in a text format. */
  get #isText(): boolean {
    return this.#context.turn.dispatchedKind?.textAnswers === true && TEXT.test(lowerType(this.#upstreamHeaders['content-type']));
  }

  #passText(body: Buffer): void {
    const context = this.#context;
    const head = this.#answerHead;
    const { status, headers } = head;
    context.committed();
    headers['content-type'] = lowerType(this.#upstreamHeaders['content-type']);
    context.turn.rules.head(head);
    const ending = { outcome: { kind: 'completed', shown: true }, status, code: null } as const;
    context.settle({ kind: 'done', ending, close: () => this.#client.answer(status, headers, body) });
  }
}

/** Matches types of text answers. An HTML page is not an answer of a provider, and a stream of events was not requested. */
const TEXT = /^text\/(?!html|event-stream)/;
