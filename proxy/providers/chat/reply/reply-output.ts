// The output of a reply while it is made: its events, its items by their places, and the memory that they take (AA49, AA50).
import type { JsonObject } from '../../../turn/json/json.ts';
import type { Emit } from '../../../turn/provider/replies.ts';
import type { HeldBytes } from '../../../turn/reply/held-bytes.ts';
import type { EventWriter } from '../../api-accounts/reply/event-writer.ts';

export type ItemStatus = 'completed' | 'incomplete';

export class ReplyOutput {
  readonly #writer: EventWriter;
  readonly #memory: Pick<HeldBytes, 'hold'>;
  /** The JSON of each item that is done; undefined for one that is open. */
  readonly #items: (string | undefined)[] = [];
  /** UTF-8 bytes of text, calls and reasoning. */
  bytes = 0;
  /** Set for each event of the account. */
  emit: Emit = () => undefined;

  constructor(writer: EventWriter, memory: Pick<HeldBytes, 'hold'>) {
    this.#writer = writer;
    this.#memory = memory;
  }

  get isEmpty(): boolean {
    return this.#items.length === 0;
  }

  /** The JSON of the items that are done, in order. */
  get items(): readonly string[] {
    return this.#items.filter((item) => item !== undefined);
  }

  send(type: string, members: JsonObject): void {
    this.#writer.send(type, members, this.emit);
  }

  /** @param members JSON without braces */
  write(type: string, members: string): void {
    this.#writer.write(type, members, this.emit);
  }

  /** Counts a text that stays until the end of the reply. @throws TooMuchHeld */
  hold(text: string): void {
    const bytes = Buffer.byteLength(text);
    this.bytes += bytes;
    this.#memory.hold(bytes);
  }

  /** @returns its place */
  added(item: JsonObject): number {
    const index = this.#items.push(undefined) - 1;
    this.send('response.output_item.added', { output_index: index, item });
    return index;
  }

  done(index: number, item: JsonObject): void {
    const json = JSON.stringify(item);
    this.#memory.hold(json.length);
    this.#items[index] = json;
    this.write('response.output_item.done', `"output_index":${index},"item":${json}`);
  }
}
