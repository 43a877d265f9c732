// The SSE stream of a Messages client: blocks as events, pings while nothing else is written, and one error event if the reply fails (AM51
// to AM60).
import type { ServerResponse } from 'node:http';
import { KeepaliveSseSink } from '../../../clients/http/replies/keepalive-sse-sink.ts';
import { type ErrorBody, Refusal } from '../../../turn/errors/refusal.ts';
import { isObject, type JsonObject } from '../../../turn/json/json.ts';
import { LIFECYCLE } from '../../../turn/reply/event-types.ts';
import type { ReplyEvent } from '../../../turn/reply/reply-event.ts';
import type { StreamedTurn } from '../../../turn/surface.ts';
import type { Event, Outcome } from '../../../turn/turn.ts';
import { estimatedTokens } from '../message-tokens.ts';
import { failedStream, isTooLong, outOfQuota, streamError, tooLong } from '../messages-error.ts';
import type { MessagesRequest } from '../request/decode.ts';
import type { BlockOutput, TextDelta } from './block-writer.ts';
import { MESSAGE_EVENTS, MessageEvents } from './message-events.ts';
import { contextOf, messageDelta, messageStart, sseOf, usageOfMessage } from './message-object.ts';

const PING = sseOf({ type: 'ping' });

const DELTA_TYPES = { text: 'text_delta', thinking: 'thinking_delta', partial_json: 'input_json_delta' } as const;

const AFTER = Buffer.from('"}}\n\n');

export class MessageSseSink extends KeepaliveSseSink implements BlockOutput {
  override readonly wants = MESSAGE_EVENTS;
  override readonly drops = LIFECYCLE;
  protected override readonly keepalive = PING;
  readonly #request: MessagesRequest;
  readonly #events: MessageEvents;
  /** The beginning of a delta event of the open block, up to its text. */
  #before: { readonly index: number; readonly kind: TextDelta; readonly bytes: Buffer } | undefined;
  #state: 'open' | 'finished' | 'failed' = 'open';

  constructor(response: ServerResponse, turn: StreamedTurn, request: MessagesRequest) {
    super(response, turn);
    this.#request = request;
    this.#events = new MessageEvents(this, request, turn.held);
  }

  /** Whether a stop sequence was reached. The rest of the account's reply is then not used (AM49). */
  get satisfied(): boolean {
    return this.#events.reply.matched !== undefined;
  }

  override open(status: number, headers: Readonly<Record<string, string>>): void {
    super.open(status, headers);
    this.#write('message_start', { message: messageStart(this.turn, this.turn.promptTokens) });
    this.write(PING);
  }

  override raw(event: ReplyEvent): void {
    if (this.#state === 'open') this.#events.raw(event);
  }

  override event(event: Event): void {
    if (this.#state !== 'open') return;
    const { type, data } = event;
    const { response } = data;
    if (type === 'response.completed' || type === 'response.incomplete') {
      if (isObject(response)) this.#finish(response);
    } else if (type === 'error') this.#fail(this.#failed(data.error as unknown as ErrorBody));
    else this.#events.event(event);
  }

  lost(): void {
    this.#events.reply.lost();
  }

  override close(closing: readonly (Event | Refusal)[], outcome: Outcome): void {
    for (const last of closing) if (last instanceof Refusal) this.#fail(streamError(last, this.turn.id));
    // A terminal event that could not be parsed does not count.
    if (this.#state === 'open') this.#fail(streamError(new Refusal('upstream_error'), this.turn.id));
    super.close([], outcome);
  }

  start(index: number, block: JsonObject): void {
    this.#write('content_block_start', { index, content_block: block });
  }

  text(index: number, kind: TextDelta, encoded: Buffer): void {
    if (this.#before?.index !== index || this.#before.kind !== kind) {
      const head = `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":`;
      this.#before = { index, kind, bytes: Buffer.from(`${head}{"type":"${DELTA_TYPES[kind]}","${kind}":"`) };
    }
    this.append(this.#before.bytes);
    this.append(encoded);
    this.append(AFTER);
  }

  /** Fails, because text that was written cannot be taken back (AM16). */
  replace(): void {
    throw new Refusal('upstream_error');
  }

  delta(index: number, delta: JsonObject): void {
    this.#write('content_block_delta', { index, delta });
  }

  stop(index: number): void {
    this.#write('content_block_stop', { index });
  }

  #finish(response: JsonObject): void {
    const { reply } = this.#events;
    const end = reply.finish(response);
    const usage = usageOfMessage(response, reply.searches, () => ({
      input: this.turn.promptTokens,
      cached: 0,
      output: this.#events.outputTokens,
    }));
    this.write(sseOf(messageDelta(end, usage, contextOf(this.#request))));
    this.#write('message_stop', {});
    this.#state = 'finished';
  }

  #failed(error: ErrorBody): JsonObject {
    const message = this.#sentence(error);
    return failedStream(message === undefined ? error : { ...error, message, param: null }, this.turn.id);
  }

  /** The sentence that replaces the message of an error on which clients act; undefined for any other error. */
  #sentence({ code, message, resets_at }: ErrorBody): string | undefined {
    const request = this.#request;
    if (isTooLong(code)) return tooLong(request.tokens ?? estimatedTokens(request), this.turn.model?.window);
    return code === 'usage_limit_reached' && resets_at !== undefined ? outOfQuota(message, resets_at) : undefined;
  }

  /** @param error the event to send */
  #fail(error: JsonObject): void {
    if (this.#state !== 'open') return;
    this.write(sseOf({ ...error, type: 'error' }));
    this.#state = 'failed';
  }

  #write(type: string, members: JsonObject): void {
    this.write(sseOf({ type, ...members }));
  }
}
