// Translates the instructions and the input of a turn into the messages of Chat (AA40 to AA44).
import { isAbsent, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import { functionCall, functionOutput } from '../../api-accounts/tools/lowered-calls.ts';
import { AssistantRun } from './assistant-run.ts';
import { CallIds } from './call-ids.ts';
import { CallRound } from './call-round.ts';
import { Content, joinedTexts } from './content-parts.ts';
import type { ChatEncoding } from './encoding.ts';

export interface Conversation {
  readonly instructions: Json | undefined;
  readonly items: readonly Json[];
  /** The text to add to the end of the system text; undefined if the gateway adds nothing. */
  readonly systemEnd: string | undefined;
}

/** @throws Error for an item that Chat cannot express, which eligibility should have excluded (AA46) */
export function chatMessages(conversation: Conversation, encoding: ChatEncoding): readonly JsonObject[] {
  return new Translation(conversation, encoding).messages();
}

/** A message, or calls with their results. */
type Block = JsonObject | CallRound;

class Translation {
  readonly #encoding: ChatEncoding;
  readonly #content: Content;
  readonly #ids: CallIds;
  readonly #blocks: Block[] = [];
  /** Calls that have no result yet, by the client's id. Calls without an id are one group. */
  readonly #open = new Map<string, { readonly round: CallRound; readonly at: number }[]>();
  readonly #system: string[] = [];
  #isAllDeveloper = true;
  #hasBegun = false;
  #hasUser = false;
  #run: AssistantRun | undefined;
  /** The index of the last user message in the input. */
  readonly #lastUser: number;

  constructor({ instructions, items, systemEnd }: Conversation, encoding: ChatEncoding) {
    this.#encoding = encoding;
    this.#content = new Content(encoding);
    this.#ids = new CallIds(encoding.quirks.tool_ids, encoding.adapted);
    this.#lastUser = items.findLastIndex((item) => isObject(item) && isMessage(item) && item.role === 'user');
    if (typeof instructions === 'string' && instructions.trim() !== '') this.#addSystem(instructions, 'system');
    for (const [i, item] of items.entries()) this.#add(item, i);
    this.#endRun();
    if (systemEnd !== undefined) this.#addSystem(systemEnd, this.#system.length > 0 ? 'developer' : 'system');
    if (!this.#hasUser) this.#addUser('Continue.');
  }

  messages(): readonly JsonObject[] {
    const { quirks, adapted } = this.#encoding;
    const role = this.#isAllDeveloper && quirks.developer_role ? 'developer' : 'system';
    if (this.#isAllDeveloper && this.#system.length > 0 && !quirks.developer_role) adapted.note('input.message.role');
    const first: readonly JsonObject[] = this.#system.length > 0 ? [{ role, content: this.#system.join('\n\n') }] : [];
    const rest = this.#blocks.flatMap((block) => (block instanceof CallRound ? block.messages(this.#encoding) : [block]));
    return quirks.assistant_after_tool ? [...first, ...this.#parted(rest)] : [...first, ...rest];
  }

  #add(item: Json, place: number): void {
    if (!isObject(item)) throw new Error('an item that is no object has no form in Chat');
    if (item.type === 'additional_tools') return;
    if (item.type === 'reasoning') this.#runAt(place).reasoning(item);
    else if (isMessage(item)) this.#message(item, place);
    else this.#callOrOutput(item, place);
  }

  #message(item: JsonObject, place: number): void {
    const { role, content } = item;
    if (role === 'assistant') {
      const text = this.#content.text(content);
      if (text === '') this.#encoding.adapted.note('input.message');
      else this.#runAt(place).text(text);
      return;
    }
    this.#endRun();
    if (role === 'system' || role === 'developer') this.#systemMessage(this.#content.text(content), role);
    else if (role === 'user') this.#user(content);
    else throw new Error('a message of an unknown role has no form in Chat');
  }

  #user(content: Json | undefined): void {
    const said = this.#content.user(this.#content.parts(content));
    this.#hasBegun = true;
    if (said === undefined) {
      this.#encoding.adapted.note('input.message');
      return;
    }
    this.#hasUser = true;
    this.#blocks.push({ role: 'user', content: said });
  }

  #systemMessage(text: string, role: 'system' | 'developer'): void {
    const { quirks, adapted } = this.#encoding;
    if (text === '') adapted.note('input.message');
    else if (!this.#hasBegun) this.#addSystem(text, role);
    else if (quirks.late_system === 'merge') {
      adapted.note('input.message');
      this.#addSystem(text, role);
    } else if (quirks.late_system === 'user') {
      adapted.note('input.message.role');
      this.#hasUser = true;
      this.#blocks.push({ role: 'user', content: `Developer message: ${text}` });
    } else {
      const isRenamed = role === 'developer' && !quirks.developer_role;
      if (isRenamed) adapted.note('input.message.role');
      this.#blocks.push({ role: isRenamed ? 'system' : role, content: text });
    }
  }

  #addSystem(text: string, role: 'system' | 'developer'): void {
    if (role === 'system') this.#isAllDeveloper = false;
    this.#system.push(text);
  }

  /** Adds a user message, because servers answer only after one (AA41). */
  #addUser(text: string): void {
    this.#encoding.adapted.note('input');
    this.#blocks.push({ role: 'user', content: text });
  }

  #callOrOutput(item: JsonObject, place: number): void {
    const call = functionCall(item, this.#encoding.tools, this.#encoding.adapted);
    if (call) {
      this.#runAt(place).call(call);
      return;
    }
    const output = functionOutput(item);
    if (!output) throw new Error('an item of an unknown type has no form in Chat');
    this.#endRun();
    this.#hasBegun = true;
    const parts = this.#content.parts(output.output);
    const open = this.#open.get(output.id ?? '')?.shift();
    if (open) {
      // Another message came between the call and its output.
      if (open.round !== this.#blocks.at(-1)) this.#encoding.adapted.note('input.function_call_output');
      open.round.answer(open.at, parts);
      return;
    }
    this.#encoding.adapted.note('input.function_call_output');
    const text = `Tool output:\n${joinedTexts(parts)}`;
    const others = parts.filter(({ type }) => type !== 'text');
    this.#hasUser = true;
    this.#blocks.push({ role: 'user', content: others.length > 0 ? [{ type: 'text', text }, ...others] : text });
  }

  #runAt(place: number): AssistantRun {
    this.#hasBegun = true;
    this.#run ??= new AssistantRun(this.#encoding, place > this.#lastUser);
    return this.#run;
  }

  #endRun(): void {
    const run = this.#run;
    this.#run = undefined;
    if (!run) return;
    const { round, before, behind } = run.end(this.#ids);
    this.#blocks.push(...before);
    if (round) {
      this.#blocks.push(round);
      for (const [at, { clientId = '' }] of round.calls.entries()) {
        const waiting = this.#open.get(clientId);
        if (waiting) waiting.push({ round, at });
        else this.#open.set(clientId, [{ round, at }]);
      }
    }
    this.#blocks.push(...behind);
  }

  /** Adds an assistant's message between the results of tools and a user's message. */
  #parted(messages: readonly JsonObject[]): readonly JsonObject[] {
    return messages.flatMap((message, i) => {
      if (message.role !== 'tool' || messages[i + 1]?.role !== 'user') return [message];
      this.#encoding.adapted.note('input');
      return [message, { role: 'assistant', content: 'OK.' }];
    });
  }
}

/** Whether an item is a message. On some surfaces messages have no type. */
const isMessage = ({ type, role }: JsonObject): boolean => type === 'message' || (isAbsent(type) && typeof role === 'string');
