// The SSE stream of Chat Completions. Responses events become chunks, and deltas are not parsed (D4, F1.9, Q24).
import type { ServerResponse } from 'node:http';
import { KeepaliveSseSink } from '../../clients/http/replies/keepalive-sse-sink.ts';
import { Refusal } from '../../turn/errors/refusal.ts';
import { asList, isAbsent, isObject, type Json, type JsonObject } from '../../turn/json/json.ts';
import { DeltaText } from '../../turn/reply/delta-text.ts';
import { jsonText } from '../../turn/reply/event-bytes.ts';
import { LIFECYCLE } from '../../turn/reply/event-types.ts';
import type { ReplyEvent } from '../../turn/reply/reply-event.ts';
import { SentText } from '../../turn/reply/sent-text.ts';
import type { StreamedTurn } from '../../turn/surface.ts';
import type { Event, Outcome } from '../../turn/turn.ts';
import { ChatChunks, type DeltaChunk } from './chat-chunks.ts';
import { citationsIn } from './chat-citations.ts';
import {
  CALLS,
  callId,
  chatUsage,
  completionName,
  finishReason,
  isCall,
  type MessageText,
  messageTextsIn,
  statedByProvider,
} from './chat-completion.ts';
import { lengthOf, type OpenMessage, OpenMessages } from './open-messages.ts';

/** The events that are parsed: those that open and close items, and those that end the reply. */
const WANTS: ReadonlySet<string> = new Set([
  'response.output_item.added',
  'response.output_item.done',
  'response.completed',
  'response.incomplete',
]);

/** A tool call of the stream. Its index is its number among the calls. */
interface Call {
  readonly chunk: DeltaChunk;
  readonly sent: SentText;
  /** Whether a part of its arguments or its input was written. */
  written: boolean;
}

export interface ChatStreamOptions {
  /** Whether the client asked for a chunk with the usage (`stream_options.include_usage`). */
  readonly includeUsage: boolean;
}

export class ChatSseSink extends KeepaliveSseSink {
  override readonly wants = WANTS;
  override readonly drops = LIFECYCLE;
  readonly #chunks: ChatChunks;
  readonly #includeUsage: boolean;
  readonly #delta = new DeltaText();
  /** Whether the chunk with the role was written. It precedes all chunks except an error. */
  #begun = false;
  readonly #messages: OpenMessages;
  /** The characters of the content of finished messages. The places of later citations are counted from there. */
  #contentLength = 0;
  /** The number of the account's events that could not be read. Each may have been a piece of a text. */
  #losses = 0;
  /** Calls by the place of their item in the output, or by the item's id. */
  readonly #calls = new Map<Json | undefined, Call>();
  #callCount = 0;
  /** In the other states only the end mark may follow. */
  #state: 'open' | 'finished' | 'failed' = 'open';

  constructor(response: ServerResponse, turn: StreamedTurn, { includeUsage }: ChatStreamOptions) {
    super(response, turn);
    this.#includeUsage = includeUsage;
    this.#chunks = new ChatChunks(completionName(turn), { includeUsage });
    this.#messages = new OpenMessages(turn, () => this.#losses);
  }

  override raw(event: ReplyEvent): void {
    if (this.#state !== 'open') return;
    switch (event.type) {
      case 'response.output_text.delta':
        this.#said('content', event);
        break;
      case 'response.refusal.delta':
        this.#said('refusal', event);
        break;
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        this.#write(this.#calls.get(this.#delta.placeOf(event)), this.#textOf(event));
    }
  }

  lost(): void {
    this.#losses += 1;
  }

  override event({ type, data }: Event): void {
    if (this.#state !== 'open') return;
    const { item, output_index: index, response, error } = data;
    switch (type) {
      case 'response.output_item.added':
        if (isObject(item) && item.type === 'message') this.#messages.open(index ?? item.id, item.id);
        else if (isObject(item)) this.#open(item, index ?? item.id);
        break;
      case 'response.output_item.done':
        if (isObject(item)) this.#complete(item, index ?? item.id);
        break;
      case 'response.completed':
      case 'response.incomplete':
        if (isObject(response)) this.#finish(response);
        break;
      case 'response.failed':
      case 'error':
        this.#fail(error ?? null);
    }
  }

  override close(closing: readonly (Event | Refusal)[], outcome: Outcome): void {
    for (const last of closing) if (last instanceof Refusal) this.#fail({ ...last.error });
    // A terminal event that could not be parsed does not count.
    if (this.#state === 'open') this.#fail({ ...new Refusal('upstream_error').error });
    if (this.#state === 'finished') this.write('data: [DONE]\n\n');
    super.close([], outcome);
  }

  #textOf(event: ReplyEvent): Buffer | undefined {
    const text = this.#delta.of(event);
    if (!text && !event.json()) this.lost();
    return text;
  }

  #said(type: MessageText['type'], event: ReplyEvent): void {
    const text = this.#textOf(event);
    if (text) this.#say(type, text, this.#messages.open(this.#delta.placeOf(event)));
  }

  #say(type: MessageText['type'], text: Buffer | undefined, message: OpenMessage): void {
    // A finished item may have an empty text, of which there was no delta.
    if (!text || text.length === 0) return;
    // As in a collected answer, a message that begins with a refusal has no content.
    this.#begin(type === 'content' ? '' : null);
    message.written = true;
    message.sent[type].wrote(text);
    this.#chunk(this.#chunks[type], text);
  }

  #write(call: Call | undefined, text: Buffer | undefined): void {
    if (!call || !text) return;
    call.written = true;
    call.sent.wrote(text);
    this.#chunk(call.chunk, text);
  }

  #chunk({ before, after }: DeltaChunk, text: Buffer): void {
    this.append(before);
    this.append(text);
    this.append(after);
  }

  #begin(content: '' | null): void {
    if (this.#begun) return;
    this.#begun = true;
    this.write(this.#chunks.role(content));
  }

  #open(item: JsonObject, at: Json | undefined): Call | undefined {
    const { type, name } = item;
    if (!isCall(type)) return undefined;
    this.#begin(null);
    const place = this.#callCount++;
    const chunk = this.#chunks.callDelta(place, type);
    // Counted, because a provider may begin any number of calls with ids of any length.
    this.turn.holdReply(chunk.before.length + chunk.after.length + lengthOf(at));
    const call = { chunk, sent: new SentText(() => this.#losses), written: false };
    this.#calls.set(at, call);
    this.write(this.#chunks.call(place, type, callId(item), name));
    return call;
  }

  /** Writes what no delta contained. Some providers send only finished items. */
  #complete(item: JsonObject, at: Json | undefined): void {
    if (item.type === 'message') this.#completeMessage(item, at);
    else if (isCall(item.type)) {
      const call = this.#calls.get(at) ?? this.#open(item, at);
      const given = item[CALLS[item.type].member];
      if (call && typeof given === 'string') this.#write(call, call.written ? restOf(call.sent, given) : jsonText(given));
      // An item without index and id always counts as a new one.
      if (isAbsent(at)) this.#calls.delete(at);
    }
  }

  #completeMessage(item: JsonObject, at: Json | undefined): void {
    const message = this.#messages.of(item, at) ?? this.#messages.open(at);
    const said = messageTextsIn(item);
    if (!message.written) for (const { type, text } of said) this.#say(type, jsonText(text), message);
    else if (this.#losses > 0) {
      for (const type of ['content', 'refusal'] as const) {
        const finished = said.flatMap((one) => (one.type === type ? [one.text] : [])).join('');
        this.#say(type, restOf(message.sent[type], finished), message);
      }
    }
    this.#messages.close(item, at);
    this.#cite(item);
  }

  #cite(item: JsonObject): void {
    const { annotations, length } = citationsIn(item, this.#contentLength);
    this.#contentLength = length;
    if (annotations.length === 0) return;
    this.#begin('');
    this.write(this.#chunks.annotations(annotations));
  }

  #finish(response: JsonObject): void {
    // Only the response has the output if no delta and no item came before.
    if (!this.#begun) {
      for (const [index, item] of asList(response.output).entries()) if (isObject(item)) this.#complete(item, index);
    } else if (this.#losses > 0) {
      // The events that finished messages may be among those that could not be read.
      for (const [index, item] of asList(response.output).entries())
        if (isObject(item) && item.type === 'message' && this.#messages.of(item, index)) this.#completeMessage(item, index);
    }
    this.#begin('');
    const stated = statedByProvider(response);
    this.write(this.#chunks.final(finishReason(response, this.#callCount > 0), stated));
    if (this.#includeUsage) this.write(this.#chunks.usage(chatUsage(response.usage), stated));
    this.#state = 'finished';
  }

  #fail(error: Json): void {
    if (this.#state !== 'open') return;
    this.write(this.#chunks.error(error));
    this.#state = 'failed';
  }
}

/**
 * The part of a text that was not written yet.
 * @throws Refusal if the finished text does not begin with what was written, because that cannot be taken back
 */
function restOf(sent: SentText, finished: string): Buffer | undefined {
  const missing = sent.missing(finished);
  if (missing === 'elsewhere') throw new Refusal('upstream_error');
  return missing;
}
