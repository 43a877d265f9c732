// One turn on a simulated websocket during its delivery: which events were sent, and how an interrupt or a steer ends it (RB29, RB31).
import { frameBytes } from '../../base/bytes/frame-bytes.ts';
import { asString, isObject, type Json, type JsonObject } from '../../turn/json/json.ts';
import type { AnswerBody } from '../delivery/answer.ts';
import { type DeliveryStep, withPositions } from '../delivery/delivery-steps.ts';

/** Input that was accepted for a further response. */
export interface PendingSteer {
  readonly id: string;
  readonly input: Json;
}

const TERMINAL = /^(?:error|response\.(?:completed|failed|incomplete))$/;

/** The steps of its delivery. They may be replaced while they run; a frame that has begun is sent whole. */
export class RunningTurn implements Iterable<DeliveryStep> {
  readonly steers: PendingSteer[] = [];
  readonly #events: readonly Json[];
  readonly #hurry = new AbortController();
  #steps: readonly DeliveryStep[];
  #at = 0;
  #replacement: readonly DeliveryStep[] | undefined;
  #isStopped = false;
  #insideFrame = false;
  /** The number of events that were sent whole. */
  #sent = 0;

  constructor(body: AnswerBody, steps: readonly DeliveryStep[]) {
    this.#events = body.kind === 'events' ? withPositions(body).map(({ event }) => event) : [];
    this.#steps = steps;
  }

  /** Aborts when the rest is to be delivered without waits. */
  get hurried(): AbortSignal {
    return this.#hurry.signal;
  }

  /** Undefined until `response.created` was sent, and after the terminal event. */
  get responseId(): string | undefined {
    const created = this.#sentEvents.find(({ type }) => type === 'response.created');
    if (this.#isStopped || this.#sentEvents.some(({ type }) => TERMINAL.test(asString(type) ?? ''))) return undefined;
    return isObject(created?.response) ? asString(created.response.id) : undefined;
  }

  /** The items that have begun and have not ended. */
  get openItems(): readonly { readonly id: Json; readonly index: Json }[] {
    const ended = new Set(this.#sentEvents.filter(({ type }) => type === 'response.output_item.done').map((event) => event.output_index));
    return this.#sentEvents
      .filter(({ type, output_index: index }) => type === 'response.output_item.added' && !ended.has(index))
      .map(({ item, output_index: index }) => ({ id: (isObject(item) ? item.id : null) ?? null, index: index ?? 0 }));
  }

  *[Symbol.iterator](): Iterator<DeliveryStep> {
    for (;;) {
      if (this.#replacement && !this.#insideFrame) {
        this.#steps = this.#replacement;
        this.#at = 0;
        this.#replacement = undefined;
      }
      const step = this.#steps[this.#at++];
      if (!step) return;
      if (step.do === 'write') {
        this.#insideFrame = step.isPart === true;
        if (!this.#insideFrame && !this.#isStopped) this.#sent += 1;
      }
      yield step;
    }
  }

  /** Ends the response at once. Open items are lost, and an event reports each of them. */
  interrupt(): void {
    const id = this.responseId ?? null;
    let number = this.nextNumber;
    const numbered = (type: string, members: JsonObject): JsonObject => ({ type, response_id: id, ...members, sequence_number: number++ });
    this.#replace([
      numbered('response.interrupt.accepted', {}),
      ...this.openItems.map(({ id: item, index }) => numbered('response.output_item.interrupted', { item_id: item, output_index: index })),
      this.#incomplete('interrupted', number),
    ]);
  }

  /** Ends the response after the items that have begun. */
  stopForSteer(): void {
    const open = new Set(this.openItems.map(({ index }) => index));
    const rest = this.#events
      .slice(this.#sent)
      .filter(isObject)
      .filter(({ output_index: index }) => open.has(index ?? null));
    const [first] = rest;
    const number = typeof first?.sequence_number === 'number' ? first.sequence_number : this.nextNumber;
    this.#replace([...rest, this.#incomplete('steered', number + rest.length)]);
  }

  /** The sequence number for an event that is inserted between those of the response. */
  get nextNumber(): number {
    const last = this.#sentEvents.findLast(({ sequence_number: number }) => typeof number === 'number')?.sequence_number;
    return typeof last === 'number' ? last + 1 : 0;
  }

  get #sentEvents(): readonly JsonObject[] {
    return this.#events.slice(0, this.#sent).filter(isObject);
  }

  #incomplete(reason: string, sequence_number: number): JsonObject {
    const last = this.#events.findLast((event) => isObject(event) && isObject(event.response));
    const response = isObject(last) && isObject(last.response) ? last.response : {};
    const ended = { ...response, status: 'incomplete', completed_at: null, incomplete_details: { reason }, output: [] };
    return { type: 'response.incomplete', sequence_number, response: ended };
  }

  #replace(events: readonly JsonObject[]): void {
    this.#replacement = [
      ...events.map((event): DeliveryStep => ({ do: 'write', bytes: frameBytes([JSON.stringify(event)]) })),
      { do: 'end' },
    ];
    this.#isStopped = true;
    this.#hurry.abort();
  }
}
