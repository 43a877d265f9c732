// The reasoning and the messages of a reply. Each is an item, which ends when another kind of output begins (AA51, AA52).
import { isList, type JsonObject } from '../../../turn/json/json.ts';
import type { Quirks } from '../../../turn/provider/quirks.ts';
import { contentTextIn, reasoningIn } from './chunk.ts';
import { MessageItem } from './message-item.ts';
import { ReasoningItem, type ReasoningOptions } from './reasoning-item.ts';
import type { ItemStatus, ReplyOutput } from './reply-output.ts';
import { ThinkTags } from './think-tags.ts';

export class ReplyTexts {
  /** Whether the reply has text for its client. Reasoning does not count. */
  hasText = false;
  readonly #output: ReplyOutput;
  readonly #reasoningOptions: ReasoningOptions;
  readonly #keepsDetails: boolean;
  readonly #tags: ThinkTags | undefined;
  #reasoning: ReasoningItem | undefined;
  #message: MessageItem | undefined;

  constructor(output: ReplyOutput, reasoningOptions: ReasoningOptions, quirks: Pick<Quirks, 'reasoning_details' | 'think_tags'>) {
    this.#output = output;
    this.#reasoningOptions = reasoningOptions;
    this.#keepsDetails = quirks.reasoning_details && reasoningOptions.seal !== undefined;
    this.#tags = quirks.think_tags ? new ThinkTags() : undefined;
  }

  add(delta: JsonObject): void {
    const { content, refusal, annotations, reasoning_details: details } = delta;
    const said = contentTextIn(content);
    const thought = reasoningIn(delta) || said.thought;
    if (thought !== '') this.#think(thought);
    if (isList(details) && this.#keepsDetails && details.length > 0) this.#openReasoning().details(details);
    if (said.text !== '') this.#say(said.text);
    if (typeof refusal === 'string' && refusal !== '') this.#openMessage().refusal(refusal);
    if (annotations !== undefined) this.#message?.annotations(annotations);
  }

  /** Ends the texts. Characters that were held as the beginning of a tag are written as text. */
  end(status: ItemStatus): void {
    const held = this.#tags?.end();
    if (held?.thought) this.#think(held.thought);
    if (held?.text) this.#write(held.text);
    this.#endReasoning(status);
    this.#message?.end(status);
    this.#message = undefined;
  }

  /** Adds reasoning. After a text or a call it begins a new item. */
  #think(thought: string): void {
    this.#openReasoning().text(thought);
  }

  #say(text: string): void {
    const said = this.#tags?.push(text) ?? { text, thought: '' };
    if (said.thought !== '') this.#think(said.thought);
    if (said.text !== '') this.#write(said.text);
  }

  /** Adds text. Text that looks like a call stays text (AA60). */
  #write(text: string): void {
    this.#openMessage().text(text);
  }

  #openReasoning(): ReasoningItem {
    this.#reasoning ??= new ReasoningItem(this.#output, this.#reasoningOptions);
    return this.#reasoning;
  }

  #openMessage(): MessageItem {
    if (this.#reasoning) this.#endReasoning('completed');
    this.#message ??= new MessageItem(this.#output);
    this.hasText = true;
    return this.#message;
  }

  #endReasoning(status: ItemStatus): void {
    this.#reasoning?.end(status);
    this.#reasoning = undefined;
  }
}
