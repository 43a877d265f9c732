// Translates a Messages request into the Responses turn that serves it, and keeps what the translation of its reply needs (AM25 to AM46).
import { asList, isText, type JsonObject } from '../../../turn/json/json.ts';
import type { ThinkingDisplay } from '../reply/item-blocks.ts';
import type { StopSequences } from '../stop-sequences.ts';
import { historyOf } from './history.ts';
import { malformed } from './malformed.ts';
import { isStreamed, maxTokensOf, messagesFormat, refuseUnsupported, samplingOf, stopSequencesOf } from './members.ts';
import { Places } from './message-places.ts';
import { type SentTool, Tools, toolChoiceOf } from './message-tools.ts';
import { instructionsOf } from './system.ts';
import { type AskedEffort, thinkingOf } from './thinking.ts';

export interface MessagesRequest {
  /** The Responses request, with the effort and the cap that the client asked for. */
  readonly body: JsonObject;
  readonly streamed: boolean;
  /** The number of messages in the client's request. */
  readonly messages: number;
  /** The client's cap. With 0 the client asks only for a check of the request (AM26). Undefined if tokens are counted. */
  readonly maxTokens: number | undefined;
  readonly effort: AskedEffort | undefined;
  readonly thinking: ThinkingDisplay;
  readonly stops: StopSequences | undefined;
  /** The tool that the client requires by name (AM45). */
  readonly named: SentTool | undefined;
  /** Whether the reply has `context_management` (AM56). */
  readonly managesContext: boolean;
  /** The client's names of tools, by the names that the account gets (AM43). */
  readonly clientNames: ReadonlyMap<string, string>;
  readonly places: Places;
  /** The tokens of the request, if they were counted for an error message. */
  tokens?: number;
}

export interface DecodeOptions {
  /** Whether the request only counts tokens. It then needs no cap (AM61). */
  readonly counts: boolean;
}

/** @throws Refusal */
export function decodeMessages(request: JsonObject, { counts }: DecodeOptions): MessagesRequest {
  refuseUnsupported(request);
  if (!isText(request.model)) throw malformed('model', 'must be a non-blank string');
  const streamed = isStreamed(request);
  const maxTokens = counts ? undefined : maxTokensOf(request);
  const instructions = instructionsOf(request.system);
  const tools = new Tools(request.tools);
  const history = historyOf(request.messages, tools);
  const { tools: sent, named, ...choice } = toolChoiceOf(request.tool_choice, tools);
  const thinking = thinkingOf(request, history.effort);
  const format = messagesFormat(request);
  const searches = sent.some(({ tool }) => tool.type === 'web_search');
  const body: JsonObject = {
    model: request.model,
    ...(instructions === undefined ? {} : { instructions }),
    input: history.items.map(({ item }) => item),
    ...(sent.length > 0 ? { tools: sent.map(({ tool }) => tool) } : {}),
    ...choice,
    ...(thinking.display === 'text' ? { reasoning: { summary: 'auto' } } : {}),
    ...(searches ? { include: ['web_search_call.action.sources'] } : {}),
    ...(format ? { text: { format: format.format } } : {}),
    ...(maxTokens === undefined ? {} : { max_output_tokens: maxTokens }),
    ...samplingOf(request),
    stream: streamed,
  };
  return {
    body,
    streamed,
    messages: asList(request.messages).length,
    maxTokens,
    effort: thinking.effort,
    thinking: thinking.display,
    stops: stopSequencesOf(request),
    named,
    managesContext: request.context_management !== undefined && request.context_management !== null,
    clientNames: new Map(sent.map(({ name, tool }) => [String(tool.name ?? name), name])),
    places: new Places({ items: history.items, tools: sent, effort: thinking.effort?.place, format: format?.place }),
  };
}
