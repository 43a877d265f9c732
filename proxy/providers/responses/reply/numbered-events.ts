// The events of a repaired reply in their order: the account's as they came, until one of the gateway's own is among them (AA32).
import type { JsonObject } from '../../../turn/json/json.ts';
import { type Emit, UnreadableReply } from '../../../turn/provider/replies.ts';
import type { HeldBytes } from '../../../turn/reply/held-bytes.ts';
import { ReplyEvent } from '../../../turn/reply/reply-event.ts';

export class NumberedEvents {
  /** Set for each event of the account. */
  emit: Emit = () => undefined;
  readonly #memory: HeldBytes;
  /** Events with data so far, and whether the account's numbers no longer hold. */
  #sent = 0;
  #renumbers = false;

  constructor(memory: HeldBytes) {
    this.#memory = memory;
  }

  pass(event: ReplyEvent): void {
    const data = this.#renumbers ? this.#memory.json(event) : undefined;
    if (data) this.make(data);
    else {
      this.#sent += 1;
      this.emit(event);
    }
  }

  /** Sends an event of the gateway's own. The account's numbers are not valid after it. */
  make({ sequence_number: _, ...members }: JsonObject): void {
    this.#renumbers = true;
    this.emit(ReplyEvent.of({ ...members, sequence_number: this.#sent++ }));
  }

  /** The last event of the account, with other members. */
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
