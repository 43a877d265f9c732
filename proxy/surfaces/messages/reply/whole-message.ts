// The whole message for a client that asked for no stream. It equals the sum of the events that a stream would have (AM55, AM56).
import { parseKeepingDigits } from '../../../turn/json/exact-numbers.ts';
import { isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import type { ReplyEvent } from '../../../turn/reply/reply-event.ts';
import { TERMINAL_TYPES } from '../../../turn/reply/terminal-event.ts';
import type { Collector, StreamedTurn } from '../../../turn/surface.ts';
import type { Event } from '../../../turn/turn.ts';
import type { MessagesRequest } from '../request/decode.ts';
import { type BlockOutput, decoded, type TextDelta } from './block-writer.ts';
import { MESSAGE_EVENTS, MessageEvents } from './message-events.ts';
import { contextOf, messageStart, usageOfMessage } from './message-object.ts';
import type { MessageEnd } from './message-reply.ts';

interface Block {
  readonly block: Record<string, Json | undefined>;
  readonly texts: Partial<Record<TextDelta, string[]>>;
  cut: boolean;
}

/** The content of the message. */
export class WholeMessage implements BlockOutput {
  readonly #blocks: Block[] = [];

  start(_index: number, block: JsonObject): void {
    this.#blocks.push({ block: { ...block }, texts: {}, cut: false });
  }

  text(index: number, kind: TextDelta, encoded: Buffer): void {
    const { texts } = this.#at(index);
    const pieces = texts[kind] ?? [];
    texts[kind] = pieces;
    pieces.push(decoded(encoded));
  }

  replace(index: number, kind: TextDelta, encoded: Buffer): void {
    this.#at(index).texts[kind] = [decoded(encoded)];
  }

  delta(index: number, delta: JsonObject): void {
    const { block } = this.#at(index);
    if (delta.type === 'signature_delta') block.signature = delta.signature ?? '';
    else block.citations = [...(Array.isArray(block.citations) ? block.citations : []), delta.citation ?? null];
  }

  stop(index: number, cut: boolean): void {
    this.#at(index).cut = cut;
  }

  /** The content. A call that the cap of output tokens has cut is left out, because its input is not JSON. */
  content({ stop_reason }: Pick<MessageEnd, 'stop_reason'>): JsonObject[] {
    return this.#blocks.flatMap(({ block, texts, cut }) => {
      const isCall = 'input' in block;
      if (cut && isCall && stop_reason === 'max_tokens') return [];
      const { text, thinking, partial_json: input } = texts;
      return [
        {
          ...block,
          ...(text && { text: text.join('') }),
          ...(thinking && { thinking: thinking.join('') }),
          ...(isCall && { input: inputOf(input?.join('') ?? '') }),
        },
      ];
    });
  }

  #at(index: number): Block {
    const block = this.#blocks[index];
    if (!block) throw new Error(`no block ${index}`);
    return block;
  }
}

/** The input of a call, whose numbers keep their digits. Arguments that are not a JSON object become an empty input. */
function inputOf(text: string): JsonObject {
  try {
    const input = parseKeepingDigits(text);
    return isObject(input) ? input : {};
  } catch {
    return {};
  }
}

export class MessageCollector implements Collector {
  readonly wants: ReadonlySet<string> = new Set([...MESSAGE_EVENTS, ...TERMINAL_TYPES]);
  readonly #turn: StreamedTurn;
  readonly #request: MessagesRequest;
  readonly #message = new WholeMessage();
  readonly #events: MessageEvents;

  constructor(turn: StreamedTurn, request: MessagesRequest) {
    this.#turn = turn;
    this.#request = request;
    this.#events = new MessageEvents(this.#message, request, turn.held);
  }

  get satisfied(): boolean {
    return this.#events.reply.matched !== undefined;
  }

  raw(event: ReplyEvent): void {
    this.#events.raw(event);
  }

  event(event: Event): void {
    this.#events.event(event);
  }

  lost(): void {
    this.#events.reply.lost();
  }

  answer(response: JsonObject): JsonObject {
    const { reply, outputTokens } = this.#events;
    const end = reply.finish(isObject(response) ? response : {});
    const input = this.#turn.promptTokens;
    const usage = usageOfMessage(response, reply.searches, () => ({ input, cached: 0, output: outputTokens }));
    return { ...messageStart(this.#turn, input), content: this.#message.content(end), ...end, usage, ...contextOf(this.#request) };
  }
}
