// The events of an answer that rules check as a whole before the client gets any of it (F3.5, Q27). Its finished items and its end are kept.
import { isObject, type JsonObject } from '../../../turn/json/json.ts';
import { FinishedItems } from '../../../turn/reply/finished-output.ts';
import type { ReplyEvent } from '../../../turn/reply/reply-event.ts';
import { endOf, type ReplyEnd } from '../../../turn/reply/terminal-event.ts';
import { type AnsweredReply, verdictOnAnswer } from '../checked-answer.ts';
import type { Verdict } from '../reply-context.ts';

const ITEM_DONE = 'response.output_item.done';

export class CheckedEvents {
  readonly #reply: AnsweredReply;
  readonly #finished = new FinishedItems();
  /** The response in the terminal event. */
  #response: JsonObject | undefined;

  constructor(reply: AnsweredReply) {
    this.#reply = reply;
  }

  /**
   * @param known the data of the event, if it is parsed already
   * @returns the kind of end of a terminal event; an end without a response is a failure
   * @throws TooMuchHeld
   */
  keep(event: ReplyEvent, known: JsonObject | undefined): ReplyEnd | undefined {
    const end = endOf(event.type);
    if (end === undefined && event.type !== ITEM_DONE) return undefined;
    const { counters, turn } = this.#reply.context;
    if (!known) counters.add('events_parsed');
    const data = known ?? turn.held.json(event) ?? {};
    turn.held.hold(event.length);
    if (end === undefined) this.#finished.add(data);
    else if (isObject(data.response)) this.#response = this.#finished.fill(data.response);
    return end === undefined || this.#response ? end : 'failed';
  }

  /** The verdict on the answer. A reply without its terminal event is not a valid answer. */
  verdict(): Verdict {
    return verdictOnAnswer(this.#response, undefined, this.#reply);
  }
}
