// The events of a repaired reply in order. The account's events pass unchanged until an event of the gateway is among them (AA32).
import type { JsonObject } from '../../../turn/json/json.ts';
import { type Emit, UnreadableReply } from '../../../turn/provider/provider-replies.ts';
import type { HeldBytes } from '../../../turn/reply/held-bytes.ts';
import { ReplyEvent } from '../../../turn/reply/reply-event.ts';

export class NumberedEvents {
  /** Set for each event of the account. */
  emit: Emit = () => undefined;
  readonly #memory: HeldBytes;
  /** The number of events with data so far. */
  #sent = 0;
  /** Whether the account's sequence numbers are no longer valid. */
  #renumbers = false;

  constructor(memory: HeldBytes) {
    this.#memory = memory;
  }

  pass(event: ReplyEvent): void {
    const data = this.#renumbers ? this.#memory.json(event) : undefined;
    // Some servers state the type only in the event's name.
    if (data) this.make({ type: event.type, ...data });
    else {
      this.#sent += 1;
      this.emit(event);
    }
  }

  /** Sends an event that the gateway made. The account's sequence numbers are not valid after it. */
  make({ sequence_number: _, ...members }: JsonObject): void {
    this.#renumbers = true;
    this.emit(ReplyEvent.of({ ...members, sequence_number: this.#sent++ }));
  }

  /** Sends the last event of the account with changed members. */
  end(data: JsonObject): void {
    if (this.#renumbers) this.make(data);
    else this.emit(ReplyEvent.of(data));
  }

  /** @throws UnreadableReply */
  json(event: ReplyEvent): JsonObject {
    const data = this.#memory.json(event);
    if (!data) throw new UnreadableReply();
    return data;
  }
}
