// An output item during its stream: how it was opened, and its texts so far. If the account does not end it, its end is made from them.
import { GatheredBytes } from '../../../base/bytes/gathered-bytes.ts';
import { isObject, isText, type Json, type JsonObject } from '../../../turn/json/json.ts';
import { jsonText } from '../../../turn/reply/event-bytes.ts';
import { ReplyEvent } from '../../../turn/reply/reply-event.ts';
import { partTypes, type StreamedText } from './item-events.ts';

/** Whether the text has a part with events of its own. A reasoning text has none. */
const hasPart = ({ part, text }: OpenText): boolean => text.number !== undefined && part !== 'reasoning_text';

/** The part of a text in its events. */
export const partOf = (part: string, { member }: StreamedText, value: string): JsonObject => ({
  type: part,
  [member]: value,
  ...(part === 'output_text' ? { annotations: [] } : {}),
});

/** A text of an item, in the form that JSON has between the quotes. */
export class OpenText {
  readonly part: string;
  readonly text: StreamedText;
  readonly number: number;
  isEnded = false;
  readonly #json = new GatheredBytes();

  constructor(part: string, text: StreamedText, number: number) {
    this.part = part;
    this.text = text;
    this.number = number;
  }

  get isEmpty(): boolean {
    return this.#json.length === 0;
  }

  /** @returns the number of bytes that were added */
  add(json: Buffer): number {
    return this.#json.add(json);
  }

  /** @returns the number of bytes that were added */
  set(value: Json | undefined): number {
    return this.isEmpty && typeof value === 'string' ? this.add(jsonText(value)) : 0;
  }

  get value(): string {
    const bytes = this.#json.take();
    this.#json.add(bytes);
    return JSON.parse(`"${bytes.toString('utf8')}"`) as string;
  }
}

export class OpenItem {
  readonly index: number;
  /** The event that opens the item. Before it, nothing of a call is shown, because it has the name. */
  opening: JsonObject | ReplyEvent | undefined;
  isDone = false;
  /** The bytes that the item keeps until it is finished. */
  held = 0;
  /** The parts that were opened, in the form `content_index 0`. */
  readonly parts = new Set<string>();
  readonly #texts: OpenText[] = [];
  #id: string | undefined;

  constructor(index: number) {
    this.index = index;
  }

  get texts(): readonly OpenText[] {
    return this.#texts;
  }

  get hasText(): boolean {
    return this.#texts.some(({ isEmpty }) => !isEmpty);
  }

  /** The item in the event that opened it. */
  get opened(): JsonObject | undefined {
    if (!(this.opening instanceof ReplyEvent)) return this.opening;
    const item = this.opening.json()?.item;
    return isObject(item) ? item : undefined;
  }

  get id(): string | undefined {
    if (this.#id === undefined) {
      const id = this.opened?.id;
      if (isText(id)) this.#id = id;
    }
    return this.#id;
  }

  find(text: StreamedText, number: number): OpenText | undefined {
    return this.#texts.findLast((one) => one.number === number && one.text === text);
  }

  open(part: string, text: StreamedText, number: number): OpenText {
    const opened = new OpenText(part, text, number);
    this.#texts.push(opened);
    return opened;
  }

  /** The members with which events refer to a text. */
  placeOf({ text, number }: Pick<OpenText, 'text' | 'number'>): JsonObject {
    return { item_id: this.id ?? null, output_index: this.index, ...(text.number === undefined ? {} : { [text.number]: number }) };
  }

  /** The events that end the texts which the account left open. */
  endOfTexts(): readonly JsonObject[] {
    return this.#texts
      .filter(({ isEnded }) => !isEnded)
      .flatMap((open) => {
        open.isEnded = true;
        const { part, text, value } = open;
        const place = this.placeOf(open);
        const ended = { type: text.done, ...place, [text.member]: value };
        return hasPart(open) ? [ended, { type: partTypes(text.number).done, ...place, part: partOf(part, text, value) }] : [ended];
      });
  }

  /** The item made from what was shown, if the account never showed it whole; undefined for a call without a name. */
  built(status: 'completed' | 'incomplete'): JsonObject | undefined {
    const { opened } = this;
    if (!opened) return undefined;
    const parts = this.#texts.filter(hasPart).map(({ part, text, value }) => partOf(part, text, value));
    if (opened.type === 'message') return { ...opened, status, content: parts };
    if (opened.type === 'reasoning') return { ...opened, summary: parts };
    const [open] = this.#texts;
    return { ...opened, ...(opened.status === undefined ? {} : { status }), ...(open ? { [open.text.member]: open.value } : {}) };
  }

  /** Whether what was shown is usable even without a terminal event: it is text, or a call whose arguments are an object. */
  get isUsable(): boolean {
    const item = this.built('completed');
    if (item?.type !== 'function_call') return item !== undefined;
    try {
      return isObject(JSON.parse(String(item.arguments)));
    } catch {
      return false;
    }
  }

  /** Drops the texts of the item, which are no longer needed. */
  finish(): void {
    this.isDone = true;
    this.#id = this.id;
    this.opening = {};
    this.#texts.length = 0;
  }
}
