// Collects the whole message for a client that asked for no stream. It equals the sum of the events that a stream would have (AM56).
import { isObject, type JsonObject } from '../../../turn/json/json.ts';
import type { ReplyEvent } from '../../../turn/reply/reply-event.ts';
import type { Collector, StreamedTurn } from '../../../turn/surface.ts';
import type { Event } from '../../../turn/turn.ts';
import type { MessagesRequest } from '../request/decode.ts';
import { MESSAGE_EVENTS, MessageEvents } from './message-events.ts';
import { contextOf, messageStart, usageOfMessage } from './message-object.ts';
import { WholeMessage } from './whole-message.ts';

export class MessageCollector implements Collector {
  readonly wants = MESSAGE_EVENTS;
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
    return { ...messageStart(this.#turn, input), content: this.#message.content(), ...end, usage, ...contextOf(this.#request) };
  }
}
