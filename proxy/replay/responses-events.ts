// Turns a recorded answer into the Responses events that a backend account sends, because collected responses and Chat answers are not
// events of that API.
import { asList, asString, isObject, type Json, type JsonObject } from '../turn/json/json.ts';
import type { ConversationAnswer, RecordedSurface } from './conversation.ts';

/** Undefined for an answer that an account sends unchanged: events of the Responses API, and answers other than replies. */
export function responsesEvents({ status, body }: ConversationAnswer, surface: RecordedSurface): readonly JsonObject[] | undefined {
  if (status !== 200 || body === undefined) return undefined;
  if (surface === 'chat') return ofResponse(responseOfChat(body.json, body.events?.map(({ data }) => data) ?? []));
  return surface === 'public' && isObject(body.json) && body.json.object === 'response' ? ofResponse(body.json) : undefined;
}

function ofResponse(response: JsonObject): readonly JsonObject[] {
  const begun = { ...response, status: 'in_progress', output: [], usage: null };
  const events: JsonObject[] = [{ type: 'response.created', response: begun }];
  for (const [output_index, item] of asList(response.output).entries()) {
    if (!isObject(item)) continue;
    events.push({
      type: 'response.output_item.added',
      output_index,
      item: { ...item, ...(item.type === 'message' ? { content: [] } : {}) },
    });
    for (const [content_index, part] of asList(item.content).entries()) {
      if (!isObject(part) || item.type !== 'message') continue;
      const place = { item_id: item.id ?? null, output_index, content_index };
      events.push({ type: 'response.content_part.added', ...place, part: { ...part, text: '' } });
      if (typeof part.text === 'string' && part.text !== '')
        events.push({ type: 'response.output_text.delta', ...place, delta: part.text, logprobs: [] });
      events.push(
        { type: 'response.output_text.done', ...place, text: part.text ?? '', logprobs: [] },
        { type: 'response.content_part.done', ...place, part },
      );
    }
    if (item.type === 'function_call') {
      const place = { item_id: item.id ?? null, output_index };
      events.push({ type: 'response.function_call_arguments.delta', ...place, delta: item.arguments ?? '' });
      events.push({ type: 'response.function_call_arguments.done', ...place, arguments: item.arguments ?? '' });
    }
    events.push({ type: 'response.output_item.done', output_index, item });
  }
  const terminal = response.status === 'incomplete' ? 'response.incomplete' : 'response.completed';
  return [...events, { type: terminal, response }].map((event, sequence_number) => ({ ...event, sequence_number }));
}

/** The response from which a completion, or the chunks of a stream, were made. */
function responseOfChat(completion: Json | undefined, chunks: readonly Json[]): JsonObject {
  const all = [completion, ...chunks].filter(isObject);
  const choices = all.flatMap((one) => asList(one.choices).filter(isObject));
  const messages = choices.map(({ message, delta }) => (isObject(message) ? message : isObject(delta) ? delta : {}));
  const text = messages.map(({ content }) => asString(content) ?? '').join('');
  const calls = new Map<number, { id: string; name: string; arguments: string }>();
  for (const call of messages.flatMap(({ tool_calls }) => asList(tool_calls).filter(isObject))) {
    const index = typeof call.index === 'number' ? call.index : calls.size;
    const { name, arguments: part } = isObject(call.function) ? call.function : {};
    const known = calls.get(index) ?? { id: '', name: '', arguments: '' };
    calls.set(index, {
      id: asString(call.id) ?? known.id,
      name: asString(name) ?? known.name,
      arguments: known.arguments + (asString(part) ?? ''),
    });
  }
  const usage = all.map((one) => one.usage).findLast(isObject);
  const cut = choices.some(({ finish_reason }) => finish_reason === 'length');
  const message = {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
  };
  const output: JsonObject[] = [
    ...(text === '' ? [] : [message]),
    ...[...calls.values()].map((call, i) => ({
      type: 'function_call',
      id: `fc_${i}`,
      call_id: call.id,
      name: call.name,
      arguments: call.arguments,
      status: 'completed',
    })),
  ];
  return {
    id: 'resp_1',
    object: 'response',
    created_at: all[0]?.created ?? 0,
    status: cut ? 'incomplete' : 'completed',
    incomplete_details: cut ? { reason: 'max_output_tokens' } : null,
    model: all[0]?.model ?? '',
    output,
    service_tier: all.map(({ service_tier }) => service_tier).find((tier) => tier !== undefined) ?? null,
    usage: {
      input_tokens: usage?.prompt_tokens ?? 1,
      input_tokens_details: usage?.prompt_tokens_details ?? { cached_tokens: 0 },
      output_tokens: usage?.completion_tokens ?? 1,
      output_tokens_details: usage?.completion_tokens_details ?? { reasoning_tokens: 0 },
      total_tokens: usage?.total_tokens ?? 2,
    },
  };
}
