// Translates the messages of a conversation into input items, in their order (AM28 to AM31, AM38).
import { Refusal } from '../../../turn/errors/refusal.ts';
import { isAbsent, isList, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import { ciphertextIn } from '../signature.ts';
import { toolUseId, upstreamToolName } from '../tool-identity.ts';
import { blocksOf, malformed, objectAt, textAt } from './malformed.ts';
import { toolOutput, userParts } from './message-content.ts';
import type { ToolChanges } from './message-tools.ts';
import { isBilling } from './system.ts';

const MOST_MESSAGES = 100_000;

/** An input item, with the places from which it and its parts were made. */
export interface Item {
  readonly item: JsonObject;
  readonly place: string;
  readonly parts: readonly string[];
}

export interface History {
  readonly items: readonly Item[];
  /** The effort in the last system message that states one, with its place (AM33). */
  readonly effort: { readonly level: Json; readonly place: string } | undefined;
}

/** @param tools receives what the conversation changes about the declared tools (AM46) */
export function historyOf(messages: Json | undefined, tools: ToolChanges): History {
  if (!isList(messages) || messages.length === 0) throw malformed('messages', 'must be a non-empty array');
  if (messages.length > MOST_MESSAGES) throw malformed('messages', `must have at most ${MOST_MESSAGES} messages`);
  const reader = new Reader(tools, lastUserMessage(messages));
  for (const [i, message] of messages.entries()) reader.message(objectAt(message, `messages.${i}`), i);
  return reader.end();
}

const lastUserMessage = (messages: readonly Json[]): number =>
  messages.findLastIndex((message) => isObject(message) && message.role === 'user');

class Reader {
  readonly #tools: ToolChanges;
  readonly #lastUser: number;
  readonly #items: Item[] = [];
  #effort: History['effort'];
  /** The role of the last message that was not a system message. */
  #role: 'user' | 'assistant' | undefined;
  readonly #calls = new Set<string>();
  /** Calls of the assistant's last messages that have no result yet, each with the place of its message. */
  readonly #open = new Map<string, string>();
  /** Calls that a result may refer to: those of the assistant's last messages. */
  readonly #answerable = new Set<string>();
  /** The message item to which the next block may be added. */
  #message: { readonly role: string; readonly content: JsonObject[]; readonly parts: string[] } | undefined;

  constructor(tools: ToolChanges, lastUser: number) {
    this.#tools = tools;
    this.#lastUser = lastUser;
  }

  message(message: JsonObject, index: number): void {
    const place = `messages.${index}`;
    switch (message.role) {
      case 'user':
        this.#role = 'user';
        this.#userMessage(message, place);
        break;
      case 'assistant':
        if (this.#role === 'user') this.#answered();
        this.#role = 'assistant';
        this.#assistantMessage(message, place);
        break;
      case 'system':
        this.#systemMessage(message, place, index < this.#lastUser);
        break;
      default:
        throw malformed(`${place}.role`, 'must be user, assistant or system');
    }
    this.#message = undefined;
  }

  end(): History {
    if (this.#role === 'assistant') {
      throw new Refusal('invalid_request', { message: PREFILL });
    }
    this.#answered();
    if (this.#items.length === 0) throw malformed('messages', 'must have content');
    return { items: this.#items, effort: this.#effort };
  }

  /** Checks, after the user's messages that follow the assistant's, that each call has its result. */
  #answered(): void {
    const [unanswered] = this.#open.values();
    if (unanswered !== undefined) throw malformed(unanswered, UNANSWERED);
    this.#answerable.clear();
  }

  #userMessage({ content }: JsonObject, place: string): void {
    for (const [block, at] of blocksOf(content, `${place}.content`)) {
      if (block.type === 'tool_result') this.#result(block, at, place);
      else if (block.type === 'compaction') this.#compaction(block, at);
      else this.#say('user', userParts(block, at), at);
    }
  }

  #assistantMessage({ content }: JsonObject, place: string): void {
    for (const [block, at] of blocksOf(content, `${place}.content`)) {
      switch (block.type) {
        case 'text': {
          const text = textAt(block.text, `${at}.text`);
          if (text !== '') this.#say('assistant', [{ part: { type: 'output_text', text }, place: at }], at);
          break;
        }
        case 'tool_use':
          this.#call(block, at, place);
          break;
        case 'thinking':
          this.#reasoning(block.signature, at);
          break;
        case 'redacted_thinking':
          this.#reasoning(block.data, at);
          break;
        case 'compaction':
          this.#compaction(block, at);
          break;
        default:
          // Calls of another vendor's servers are left out, so that a conversation that began there can continue here.
          this.#message = undefined;
      }
    }
  }

  #systemMessage({ content, clear_at: clear, output_config: config }: JsonObject, place: string, isPast: boolean): void {
    const parts: { part: JsonObject; place: string }[] = [];
    for (const [block, at] of blocksOf(content, `${place}.content`)) {
      if (block.type === 'tool_addition') this.#tools.added(objectAt(block.tool, `${at}.tool`), `${at}.tool`);
      else if (block.type === 'tool_removal') this.#tools.removed(objectAt(block.tool, `${at}.tool`), `${at}.tool`);
      else if (block.type === 'text') {
        const text = textAt(block.text, `${at}.text`);
        if (text !== '' && !isBilling(text)) parts.push({ part: { type: 'input_text', text }, place: at });
      } else throw malformed(`${at}.type`, 'must be text, tool_addition or tool_removal');
    }
    if (clear !== 'next_user_message' || !isPast) this.#say('developer', parts, place);
    const effort = isAbsent(config) ? undefined : objectAt(config, `${place}.output_config`).effort;
    if (!isAbsent(effort)) this.#effort = { level: effort, place: `${place}.output_config.effort` };
  }

  /** Adds text, images and documents. Adjacent ones of one message become one item. */
  #say(role: string, parts: readonly { readonly part: JsonObject; readonly place: string }[] | undefined, at: string): void {
    if (!parts) throw malformed(`${at}.type`, 'must be text, image, document, search_result or tool_result');
    if (parts.length === 0) return;
    if (this.#message?.role !== role) {
      this.#message = { role, content: [], parts: [] };
      const { content, parts: places } = this.#message;
      this.#items.push({ item: { type: 'message', role, content }, place: at, parts: places });
    }
    for (const { part, place } of parts) {
      this.#message.content.push(part);
      this.#message.parts.push(place);
    }
  }

  #push(item: JsonObject, place: string, parts: readonly string[] = []): void {
    this.#message = undefined;
    this.#items.push({ item, place, parts });
  }

  #call({ id, name, input }: JsonObject, at: string, message: string): void {
    const given = textAt(id, `${at}.id`);
    if (this.#calls.has(given)) throw malformed(message, '`tool_use` ids must be unique');
    this.#calls.add(given);
    this.#open.set(given, message);
    this.#answerable.add(given);
    const args = JSON.stringify(isAbsent(input) ? {} : input);
    this.#push(
      { type: 'function_call', call_id: toolUseId(given), name: upstreamToolName(textAt(name, `${at}.name`)), arguments: args },
      at,
    );
  }

  #result(block: JsonObject, at: string, message: string): void {
    const id = textAt(block.tool_use_id, `${at}.tool_use_id`);
    if (!this.#answerable.has(id) || !this.#open.delete(id)) throw malformed(message, UNEXPECTED);
    const { output, places } = toolOutput(block, at, (name) => this.#tools.named(name));
    this.#push({ type: 'function_call_output', call_id: toolUseId(id), output }, at, places);
  }

  /** Adds reasoning. A block that this gateway did not sign, or that was changed, is silently dropped. */
  #reasoning(signature: Json | undefined, at: string): void {
    this.#message = undefined;
    const ciphertext = typeof signature === 'string' ? ciphertextIn(signature) : undefined;
    if (ciphertext !== undefined) this.#push({ type: 'reasoning', summary: [], encrypted_content: ciphertext }, at);
  }

  #compaction({ content }: JsonObject, at: string): void {
    if (typeof content === 'string' && content !== '') this.#say('user', [{ part: { type: 'input_text', text: content }, place: at }], at);
  }
}

const UNANSWERED = '`tool_use` ids were found without `tool_result` blocks immediately after';
const UNEXPECTED = 'unexpected `tool_use_id` found in `tool_result` blocks';
const PREFILL = 'This model does not support assistant message prefill. The conversation must end with a user message.';
