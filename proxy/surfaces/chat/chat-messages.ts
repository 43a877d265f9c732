// Translates the messages of Chat into input items. The order of messages, tool calls and tool results stays (D4, Q24).
import { createHash } from 'node:crypto';
import { invalidRequest } from '../../turn/errors/invalid-request.ts';
import { asList, isAbsent, isList, isObject, isText, type Json, type JsonObject } from '../../turn/json/json.ts';
import { ASSISTANT_PARTS, contentParts, TEXT_PARTS, USER_PARTS } from './chat-content.ts';
import type { Origin } from './chat-names.ts';

export interface InputItems {
  readonly items: readonly Json[];
  /** The origin of each input item. */
  readonly origins: readonly Origin[];
}

export function inputItems(messages: Json | undefined): InputItems {
  if (!isList(messages)) throw invalidRequest('messages', 'must be an array');
  const translation = new Translation();
  for (const [i, message] of messages.entries()) translation.add(message, `messages.${i}`);
  return translation;
}

class Translation implements InputItems {
  readonly items: Json[] = [];
  readonly origins: Origin[] = [];
  /** The ids of custom tool calls. Their results are items of another type, but the message of a result does not state its type. */
  readonly #customCalls = new Set<string>();

  add(message: Json, path: string): void {
    if (!isObject(message)) throw invalidRequest(path, 'must be an object');
    const { role, content } = message;
    switch (role) {
      case 'system':
      case 'developer':
        this.#message(role, contentParts(content, `${path}.content`, TEXT_PARTS), message, path);
        break;
      case 'user':
        this.#message(role, contentParts(content, `${path}.content`, USER_PARTS), message, path);
        break;
      case 'assistant':
        this.#assistant(message, path);
        break;
      case 'tool':
        this.#result(message, path);
        break;
      default:
        throw invalidRequest(`${path}.role`, 'must be system, developer, user, assistant or tool');
    }
  }

  #add(item: JsonObject, origin: Origin): void {
    this.items.push(item);
    this.origins.push(origin);
  }

  #message(role: string, parts: readonly Json[], { content }: JsonObject, path: string): void {
    const item = { type: 'message', role, content: parts };
    this.#add(item, { from: 'message', path, ...(typeof content === 'string' ? {} : { parts: asList(content).length }) });
  }

  /** Adds the assistant's text, if there is any, then its calls. */
  #assistant(message: JsonObject, path: string): void {
    // The older form of a call has no id, and earlier audio can be found only by its provider.
    for (const member of ['function_call', 'audio'] as const) {
      if (!isAbsent(message[member])) throw invalidRequest(`${path}.${member}`, 'is not supported');
    }
    const said =
      isAbsent(message.content) || message.content === '' ? [] : contentParts(message.content, `${path}.content`, ASSISTANT_PARTS);
    const content = isText(message.refusal) ? [...said, { type: 'refusal', refusal: message.refusal }] : said;
    if (content.length > 0) this.#message('assistant', content, message, path);
    const { tool_calls: calls } = message;
    if (!isAbsent(calls) && !isList(calls)) throw invalidRequest(`${path}.tool_calls`, 'must be an array');
    for (const [i, call] of asList(calls).entries()) this.#call(call, `${path}.tool_calls.${i}`);
  }

  #call(call: Json, path: string): void {
    if (!isObject(call)) throw invalidRequest(path, 'must be an object');
    const { id, type } = call;
    if (!isText(id)) throw invalidRequest(`${path}.id`, 'must be a non-blank string');
    if (type !== 'function' && type !== 'custom') throw invalidRequest(`${path}.type`, 'must be function or custom');
    const called = call[type];
    if (!isObject(called)) throw invalidRequest(`${path}.${type}`, 'must be an object');
    const { name } = called;
    if (!isText(name)) throw invalidRequest(`${path}.${type}.name`, 'must be a non-blank string');
    const member = type === 'function' ? 'arguments' : 'input';
    const given = called[member];
    if (typeof given !== 'string') throw invalidRequest(`${path}.${type}.${member}`, 'must be a string');
    if (type === 'custom') this.#customCalls.add(id);
    this.#add(
      { type: type === 'function' ? 'function_call' : 'custom_tool_call', call_id: takenCallId(id), name, [member]: given },
      { from: type === 'function' ? 'call' : 'custom call', path },
    );
  }

  #result({ tool_call_id: id, content }: JsonObject, path: string): void {
    if (!isText(id)) throw invalidRequest(`${path}.tool_call_id`, 'must be a non-blank string');
    const output = typeof content === 'string' ? content : contentParts(content, `${path}.content`, TEXT_PARTS);
    const type = this.#customCalls.has(id) ? 'custom_tool_call_output' : 'function_call_output';
    this.#add({ type, call_id: takenCallId(id), output }, { from: 'result', path });
  }
}

/** The longest call id that the Responses API accepts. */
const LONGEST_ID = 64;
const ID_DIGITS = 24;

/** A call id that accounts accept. Clients bring longer ids from other providers. An id has the same replacement in calls and in results. */
function takenCallId(id: string): string {
  return id.length <= LONGEST_ID ? id : `call_${createHash('sha256').update(id).digest('hex').slice(0, ID_DIGITS)}`;
}
