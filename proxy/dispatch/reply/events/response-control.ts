// Controls a response for the frames of its client: keeps its id, recognises the answers to these frames, and ends an interrupted response
// (RB29, RB31).
import { isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import type { ProviderApi } from '../../../turn/provider/provider-api.ts';
import { responseIdIn } from '../../../turn/reply/event-bytes.ts';
import type { ReplyEvent } from '../../../turn/reply/reply-event.ts';
import { endOf } from '../../../turn/reply/terminal-event.ts';
import type { AccountConfig } from '../../../turn/settings.ts';
import type { LiveReply, ReplyControls } from '../../client.ts';
import type { ReplyContext } from '../reply-context.ts';
import { usageOf } from './reply-end.ts';

/** Ends the reply with these events instead of those of its account. The last one is a terminal event. */
export type EndWith = (events: readonly JsonObject[]) => void;

export interface ResponseControlOptions {
  readonly controls: ReplyControls;
  readonly account: AccountConfig;
  readonly context: Pick<ReplyContext, 'turn' | 'provider' | 'sending' | 'estimateUsage'>;
  readonly endWith: EndWith;
}

/** The types of events that are read here. */
const READ: ReadonlySet<string> = new Set([
  'response.created',
  'response.output_item.added',
  'response.output_item.done',
  'response.completed',
  'response.incomplete',
  'response.failed',
  'error',
  'response.interrupt.accepted',
  'response.interrupt.failed',
  'response.steer.accepted',
  'response.steer.pending',
  'response.steer.failed',
]);

const isAnswer = (type: string): boolean => type.startsWith('response.interrupt.') || type.startsWith('response.steer.');

export class ResponseControl implements LiveReply {
  readonly #options: ResponseControlOptions;
  #responseId: string | undefined;
  /** The response as it was created. Over HTTP, its open items by index and its last event are kept too. */
  #created: JsonObject = {};
  readonly #items = new Map<Json, Json>();
  #last: ReplyEvent | undefined;

  constructor(options: ResponseControlOptions) {
    this.#options = options;
    options.controls.began(this);
  }

  get responseId(): string | undefined {
    return this.#responseId;
  }

  get account(): AccountConfig {
    return this.#options.account;
  }

  get provider(): ProviderApi {
    return this.#options.context.provider;
  }

  get send(): LiveReply['send'] {
    const { line } = this.#options.context.sending;
    return line && ((frame) => line.send(frame));
  }

  /** @param data the data, if they have been parsed @returns whether the client does not get the event */
  takes(event: ReplyEvent, data: JsonObject | undefined): boolean {
    const { line } = this.#options.context.sending;
    if (!line) this.#last = event.copy(this.#last);
    if (!READ.has(event.type)) return false;
    if (isAnswer(event.type)) {
      const answer = data ?? this.#options.context.turn.held.json(event);
      return !answer || !this.#options.controls.answered(answer);
    }
    const end = endOf(event.type);
    if (end !== undefined) {
      this.#responseId = undefined;
      // The websocket of a failed reply is not used again.
      const following = end === 'failed' ? undefined : this.#options.controls.responseEnded();
      if (following) line?.followedBy(following);
    } else if (line) {
      if (event.type === 'response.created') this.#responseId = responseIdIn(event) ?? idIn(event.json());
    } else this.#follow(event.type, data ?? event.json() ?? {});
    return false;
  }

  interrupt(): void {
    const id = this.#responseId ?? null;
    this.#responseId = undefined;
    const last = this.#last?.json()?.sequence_number;
    let number = typeof last === 'number' ? last + 1 : 0;
    const event = (type: string, members: JsonObject): JsonObject => ({ type, response_id: id, ...members, sequence_number: number++ });
    const accepted = event('response.interrupt.accepted', {});
    const items = [...this.#items].map(([output_index, item_id]) => event('response.output_item.interrupted', { item_id, output_index }));
    const incomplete_details = { reason: 'interrupted' };
    const response = { ...this.#created, status: 'incomplete', incomplete_details, output: [], usage: this.#usage() };
    this.#options.endWith([accepted, ...items, { type: 'response.incomplete', sequence_number: number, response }]);
  }

  /** Keeps what the end of an interrupted response repeats. Only for responses over HTTP. */
  #follow(type: string, data: JsonObject): void {
    const { output_index: index = null, item, response } = data;
    if (type === 'response.created') {
      if (isObject(response)) this.#created = response;
      this.#responseId = idIn(data);
    } else if (type === 'response.output_item.added') this.#items.set(index, isObject(item) ? (item.id ?? null) : null);
    else this.#items.delete(index);
  }

  /** The usage of an aborted response, for which the account states none (Q18). */
  #usage(): JsonObject | null {
    const { estimateUsage, turn } = this.#options.context;
    const usage = usageOf(estimateUsage());
    if (usage) turn.note('tokens_estimated', true);
    return usage;
  }
}

function idIn(created: JsonObject | undefined): string | undefined {
  const response = created?.response;
  return isObject(response) && typeof response.id === 'string' ? response.id : undefined;
}
