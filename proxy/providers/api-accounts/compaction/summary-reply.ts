// Turns the answer to a request for a summary into a compaction: one item, in which the summary is sealed (AA48).
import { Refusal } from '../../../turn/errors/refusal.ts';
import { asList, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import type { LiveTurn } from '../../../turn/live-turn.ts';
import type { Emit, EventHandler } from '../../../turn/provider/provider-replies.ts';
import { FinishedItems } from '../../../turn/reply/finished-output.ts';
import type { ReplyEvent } from '../../../turn/reply/reply-event.ts';
import { endOf } from '../../../turn/reply/terminal-event.ts';
import { EventWriter } from '../reply/event-writer.ts';
import { newId } from '../reply/new-id.ts';

/** The last step of a decoding. It reads Responses events. */
export class SummaryReply implements EventHandler {
  readonly #turn: Pick<LiveTurn, 'sealCapsule' | 'held'>;
  readonly #writer = new EventWriter();
  readonly #finished = new FinishedItems();

  constructor(turn: Pick<LiveTurn, 'sealCapsule' | 'held'>) {
    this.#turn = turn;
  }

  event(event: ReplyEvent, emit: Emit): void {
    if (!event.hasData) return;
    const { type } = event;
    if (type === 'response.created' || type === 'response.in_progress') {
      const { response } = event.json() ?? {};
      if (isObject(response)) this.#writer.send(type, { response }, emit);
    } else if (type === 'response.output_item.done') {
      this.#turn.held.hold(event.length);
      this.#finished.add(event.json() ?? {});
    } else if (endOf(type) === 'failed') emit(event);
    else if (endOf(type) !== undefined) this.#ended(event.json()?.response, emit);
  }

  /** @throws Refusal if the answer contains no summary */
  #ended(response: Json | undefined, emit: Emit): void {
    const whole = isObject(response) ? this.#finished.fill(response) : {};
    const summary = textOf(asList(whole.output));
    const sealed = whole.status === 'completed' && summary.trim() !== '' ? this.#turn.sealCapsule('compaction', summary) : undefined;
    if (sealed === undefined) throw new Refusal('invalid_compaction_response');
    const item: JsonObject = { id: newId('cmp_'), type: 'compaction', encrypted_content: sealed };
    this.#writer.send('response.output_item.added', { output_index: 0, item }, emit);
    this.#writer.send('response.output_item.done', { output_index: 0, item }, emit);
    this.#writer.send('response.completed', { response: { ...whole, output: [item] } }, emit);
  }
}

/** The texts of the messages. A refusal is not a summary. */
const textOf = (output: readonly Json[]): string =>
  output
    .flatMap((item) => (isObject(item) && item.type === 'message' ? asList(item.content) : []))
    .map((part) => (isObject(part) && part.type === 'output_text' ? String(part.text) : ''))
    .join('');
