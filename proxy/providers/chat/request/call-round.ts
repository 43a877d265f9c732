// The calls of one assistant message with their results, which follow the message directly in the order of the calls (AA43).
import type { Json, JsonObject } from '../../../turn/json/json.ts';
import { type ChatPart, joinedTexts } from './content-parts.ts';
import type { ChatEncoding } from './encoding.ts';

export interface ChatCall {
  readonly clientId: string | undefined;
  /** The id that is sent to the account. */
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  /** Members of the reply that the account needs back. */
  readonly further: JsonObject | undefined;
}

export class CallRound {
  readonly calls: readonly ChatCall[];
  readonly #message: JsonObject;
  readonly #results = new Map<number, readonly ChatPart[]>();

  /** @param message the assistant's message without its calls */
  constructor(message: JsonObject, calls: readonly ChatCall[]) {
    this.#message = message;
    this.calls = calls;
  }

  /** @param at the index of the call */
  answer(at: number, parts: readonly ChatPart[]): void {
    this.#results.set(at, parts);
  }

  messages(encoding: ChatEncoding): readonly JsonObject[] {
    const { quirks, adapted } = encoding;
    const images: ChatPart[] = [];
    const results = this.calls.map(({ id, name }, at): JsonObject => {
      const parts = this.#results.get(at);
      if (!parts) adapted.note('input.function_call_output');
      const others = parts?.filter(({ type }) => type !== 'text') ?? [];
      if (others.length > 0 && quirks.tool_result_images === 'user') {
        adapted.note('input.input_image');
        images.push(...others);
      }
      const content = parts ? resultContent(parts, quirks.tool_result_images) : '(no output)';
      return { role: 'tool', tool_call_id: id, ...(quirks.tool_result_name ? { name } : {}), content };
    });
    const calls = this.calls.map((call) => ({
      id: call.id,
      type: 'function',
      function: { name: call.name, arguments: call.arguments },
      ...call.further,
    }));
    const behind: readonly JsonObject[] =
      images.length > 0 ? [{ role: 'user', content: [{ type: 'text', text: 'Of the tool outputs above:' }, ...images] }] : [];
    return [{ ...this.#message, tool_calls: calls }, ...results, ...behind];
  }
}

/** The content of a tool's message. It is a text, except for servers that take images in it. */
function resultContent(parts: readonly ChatPart[], images: 'user' | 'tool'): Json {
  const text = joinedTexts(parts);
  const others = parts.length > 0 && parts.some(({ type }) => type !== 'text');
  if (others && images === 'tool') return parts;
  return text === '' && others ? '(see below)' : text;
}
