// Translates the messages of Chat into input items: each message, tool call and tool result keeps its place (D4, Q24).

import type { Json, JsonObject } from '../../proxy/turn/json/json.ts';
import { asList, isAbsent, isList, isObject, isText } from '../../proxy/turn/json/json.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { invalidRequest } from '../helpers/invalid-request.ts';
import { CHAT_TURNS } from '../route-groups.ts';
import { ASSISTANT_PARTS, contentParts, TEXT_PARTS, USER_PARTS } from './chat-content.ts';

/** Runs after the check of audio, which names parts by their place in `messages`. */
export const chatMessages = rule({
  name: 'chat-messages',
  routes: CHAT_TURNS,
  request({ body }) {
    const { messages } = body;
    if (!isList(messages)) throw invalidRequest('messages', 'must be an array');
    delete body.messages;
    body.input = inputItems(messages);
  },
});

function inputItems(messages: readonly Json[]): readonly Json[] {
  const items: Json[] = [];
  // The result of a custom tool call is another type of item than that of a function call; the message of a result does not name the type.
  const customCalls = new Set<string>();
  for (const [i, message] of messages.entries()) {
    const path = `messages.${i}`;
    if (!isObject(message)) throw invalidRequest(path, 'must be an object');
    switch (message.role) {
      case 'system':
      case 'developer':
        items.push(inputMessage(message.role, contentParts(message.content, `${path}.content`, TEXT_PARTS)));
        break;
      case 'user':
        items.push(inputMessage('user', contentParts(message.content, `${path}.content`, USER_PARTS)));
        break;
      case 'assistant':
        items.push(...assistantItems(message, path, customCalls));
        break;
      case 'tool':
        items.push(toolResult(message, path, customCalls));
        break;
      default:
        throw invalidRequest(`${path}.role`, 'must be system, developer, user, assistant or tool');
    }
  }
  return items;
}

const inputMessage = (role: string, content: readonly Json[]): JsonObject => ({ type: 'message', role, content });

/** The assistant's text, if there is any, then its calls. */
function assistantItems(message: JsonObject, path: string, customCalls: Set<string>): readonly Json[] {
  // The older form of a call has no id, and earlier audio can be resolved only by its provider.
  for (const member of ['function_call', 'audio'] as const) {
    if (!isAbsent(message[member])) throw invalidRequest(`${path}.${member}`, 'is not supported');
  }
  const said = isAbsent(message.content) || message.content === '' ? [] : contentParts(message.content, `${path}.content`, ASSISTANT_PARTS);
  const content = isText(message.refusal) ? [...said, { type: 'refusal', refusal: message.refusal }] : said;
  const { tool_calls: calls } = message;
  if (!isAbsent(calls) && !isList(calls)) throw invalidRequest(`${path}.tool_calls`, 'must be an array');
  const called = asList(calls).map((call, i) => callItem(call, `${path}.tool_calls.${i}`, customCalls));
  return content.length > 0 ? [inputMessage('assistant', content), ...called] : called;
}

function callItem(call: Json, path: string, customCalls: Set<string>): JsonObject {
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
  if (type === 'function') return { type: 'function_call', call_id: id, name, arguments: given };
  customCalls.add(id);
  return { type: 'custom_tool_call', call_id: id, name, input: given };
}

function toolResult(message: JsonObject, path: string, customCalls: ReadonlySet<string>): JsonObject {
  const { tool_call_id: id, content } = message;
  if (!isText(id)) throw invalidRequest(`${path}.tool_call_id`, 'must be a non-blank string');
  const output = typeof content === 'string' ? content : contentParts(content, `${path}.content`, TEXT_PARTS);
  return { type: customCalls.has(id) ? 'custom_tool_call_output' : 'function_call_output', call_id: id, output };
}
