// The output of a reply while it arrives: its events, its items by their places, and the memory that they need (AA49, AA50).
import type { JsonObject } from '../../../turn/json/json.ts';
import type { Emit } from '../../../turn/provider/provider-replies.ts';
import type { HeldBytes } from '../../../turn/reply/held-bytes.ts';
import type { EventWriter } from '../../api-accounts/reply/event-writer.ts';

export type ItemStatus = 'completed' | 'incomplete';

export class ReplyOutput {
  readonly #writer: EventWriter;
  readonly #memory: Pick<HeldBytes, 'hold' | 'release'>;
  /** The JSON of each finished item; undefined for an open item. */
  readonly #items: (string | undefined)[] = [];
  /** The UTF-8 bytes of text, calls and reasoning. */
  bytes = 0;
  /** Set for each event of the account. */
  emit: Emit = () => undefined;

  constructor(writer: EventWriter, memory: Pick<HeldBytes, 'hold' | 'release'>) {
    this.#writer = writer;
    this.#memory = memory;
  }

  get isEmpty(): boolean {
    return this.#items.length === 0;
  }

  /** The JSON of the finished items, in order. */
  get items(): readonly string[] {
    return this.#items.filter((item) => item !== undefined);
  }

  send(type: string, members: JsonObject): void {
    this.#writer.send(type, members, this.emit);
  }

  /** @param members JSON without its braces */
  write(type: string, members: string): void {
    this.#writer.write(type, members, this.emit);
  }

  /** Counts the bytes of a text that its item keeps until it is finished. @returns the bytes of the text. @throws TooMuchHeld */
  hold(text: string): number {
    const bytes = Buffer.byteLength(text);
    this.bytes += bytes;
    return this.keep(bytes);
  }

  /** Counts the bytes of what an item keeps besides its texts until it is finished. @throws TooMuchHeld */
  keep(bytes: number): number {
    this.#memory.hold(bytes);
    return bytes;
  }

  /** Opens an item. @returns the place of the item */
  added(item: JsonObject): number {
    const index = this.#items.push(undefined) - 1;
    this.send('response.output_item.added', { output_index: index, item });
    return index;
  }

  /**
   * Ends an item. Only its JSON is kept, for the terminal event (AA50, AA93).
   * @param kept the bytes that the item held while it was open
   */
  done(index: number, item: JsonObject, kept: number): void {
    const json = JSON.stringify(item);
    this.#memory.hold(json.length);
    this.#memory.release(kept);
    this.#items[index] = json;
    this.write('response.output_item.done', `"output_index":${index},"item":${json}`);
  }
}
