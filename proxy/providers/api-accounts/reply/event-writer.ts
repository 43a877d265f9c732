// Writes events of a Responses stream that the gateway makes. They are numbered, and begin with their type, as providers write them (AA49).
import type { JsonObject } from '../../../turn/json/json.ts';
import type { Emit } from '../../../turn/provider/provider-replies.ts';
import { ReplyEvent } from '../../../turn/reply/reply-event.ts';

export class EventWriter {
  #number = 0;
  /** Reused for every event, as in a carrier. */
  readonly #event = new ReplyEvent();

  /** @param members the members after `type` and `sequence_number` */
  send(type: string, members: JsonObject, emit: Emit): void {
    const rest = JSON.stringify(members);
    this.write(type, rest === '{}' ? '' : rest.slice(1, -1), emit);
  }

  /** @param members JSON without its braces */
  write(type: string, members: string, emit: Emit): void {
    const head = `event: ${type}\ndata: `;
    const comma = members === '' ? '' : ',';
    const bytes = Buffer.from(`${head}{"type":"${type}","sequence_number":${this.#number++}${comma}${members}}\n\n`);
    const event = this.#event;
    event.bytes = bytes;
    event.start = 0;
    event.end = bytes.length;
    event.type = type;
    event.hasData = true;
    event.dataStart = head.length;
    event.dataEnd = bytes.length - 2;
    emit(event);
    // Cleared so that an idle stream keeps no bytes in memory.
    event.clear();
  }
}
