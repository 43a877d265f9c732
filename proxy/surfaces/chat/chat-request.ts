// Translates the request of a Chat client into a request of the Responses API: its parameters, tools, messages and settings (D4, Q24).
import { isObject } from '../../turn/json/json.ts';
import type { Decoded } from '../../turn/surface.ts';
import type { Turn, Work } from '../../turn/turn.ts';
import { inputItems } from './chat-messages.ts';
import { ChatNames } from './chat-names.ts';
import { withoutOwnParameters } from './chat-parameters.ts';
import { translateSettings } from './chat-settings.ts';
import type { ChatStreamOptions } from './chat-sse-sink.ts';
import { translateText } from './chat-text.ts';
import { translateToolChoice } from './chat-tool-choice.ts';
import { translateTools } from './chat-tools.ts';

/** @throws Refusal that names members of Chat */
export function chatRequest({ body }: Work, turn: Turn): Decoded<ChatStreamOptions> {
  const { stream_options: options } = body;
  const includeUsage = isObject(options) && options.include_usage === true;
  withoutOwnParameters(body);
  translateTools(body);
  translateToolChoice(body);
  const { items, origins } = inputItems(body.messages);
  delete body.messages;
  body.input = items;
  translateText(body);
  const cap = translateSettings(body, turn.key.output_tokens?.max);
  return { names: new ChatNames(origins, cap), memory: { includeUsage } };
}
