// Writes a simulated Chat reply, as chunks or as a completion for a client that does not stream.
import type { Json, JsonObject } from '../../../turn/json/json.ts';
import type { OutputPlan } from '../../model/output-plan.ts';
import { type ChatOutput, chatOutput, citation, type OutputContext, reasoningMembers } from './chat-output.ts';

export interface SimulatedReplyContext extends OutputContext {
  readonly model: Json;
  /** Unix milliseconds. */
  readonly now: number;
  /** Tokens. */
  readonly input: number;
  readonly cached: number;
  /** Where a stream states its usage: in a chunk of its own at the end, in the chunk with the finish reason, or nowhere. */
  readonly usage: 'last' | 'beside finish' | 'none';
}

export interface SimulatedChatReply {
  readonly chunks: readonly JsonObject[];
  readonly completion: JsonObject;
}

export function chatReply(plan: OutputPlan, thought: string | undefined, context: SimulatedReplyContext): SimulatedChatReply {
  const output = chatOutput(plan, thought, context);
  const head = { id: context.ids.next('chatcmpl'), created: Math.floor(context.now / 1000), model: context.model };
  const finish = finishOf(plan, output, context);
  const usage = usageOf(output, context);
  return { chunks: chunksOf(output, head, { finish, usage }, context), completion: completionOf(output, head, { finish, usage }, context) };
}

interface ReplyEnd {
  readonly finish: string;
  readonly usage: JsonObject;
}

function finishOf({ incomplete }: OutputPlan, { calls }: ChatOutput, { form }: SimulatedReplyContext): string {
  if (form.finish !== undefined) return form.finish;
  if (incomplete !== undefined) return incomplete === 'content_filter' ? 'content_filter' : 'length';
  if (calls.length === 0 || form.has('stop with calls')) return 'stop';
  return form.has('legacy call') ? 'function_call' : 'tool_calls';
}

function chunksOf(
  { deltas }: ChatOutput,
  head: JsonObject,
  { finish, usage }: ReplyEnd,
  context: SimulatedReplyContext,
): readonly JsonObject[] {
  const { form } = context;
  const chunk = (choices: Json | undefined, members: JsonObject = {}): JsonObject => ({
    ...head,
    object: 'chat.completion.chunk',
    ...(choices === undefined ? {} : { choices }),
    ...members,
  });
  const choice = (delta: JsonObject, reason: string | null): Json => [{ index: 0, delta, logprobs: null, finish_reason: reason }];
  const where = form.has('no usage')
    ? 'none'
    : form.has('usage beside finish')
      ? 'beside finish'
      : form.has('usage in groq')
        ? 'groq'
        : context.usage;
  const beside: JsonObject = where === 'beside finish' ? { usage } : where === 'groq' ? { x_groq: { id: 'req', usage } } : {};
  const choices = form.has('null choices') ? null : form.has('no choices') ? undefined : [];
  return [
    ...(form.has('filter chunk') ? [chunk([], { prompt_filter_results: [] })] : []),
    chunk(choice({ role: 'assistant', content: '' }, null)),
    ...deltas.map((delta) => chunk(choice(delta, null))),
    ...(form.has('no finish') ? [] : [chunk(choice({}, finish), beside)]),
    ...(where === 'last' ? [chunk(choices, { usage })] : []),
  ];
}

function completionOf(output: ChatOutput, head: JsonObject, { finish, usage }: ReplyEnd, context: SimulatedReplyContext): JsonObject {
  const { form } = context;
  const { text, refusal, calls, reasoning } = output;
  const named = calls.map(({ id, name, input }) => ({
    ...(form.has('no call ids') ? {} : { id }),
    type: 'function',
    function: { name, arguments: form.has('object arguments') ? (JSON.parse(input) as Json) : form.has('null arguments') ? null : input },
  }));
  const thinking = reasoning === '' ? {} : reasoningMembers(reasoning, context);
  const before = Array.isArray(thinking.content) ? [...thinking.content] : [];
  const parts = form.has('list content') || before.length > 0 ? [...before, { type: 'text', text }] : undefined;
  const tagged = typeof thinking.content === 'string' ? `${thinking.content}${text}` : text;
  const message = {
    role: 'assistant',
    ...thinking,
    content: parts ?? (tagged === '' ? null : tagged),
    refusal: refusal === '' ? null : refusal,
    ...(named.length === 0 ? {} : form.has('legacy call') ? { function_call: named[0]?.function ?? {} } : { tool_calls: named }),
    ...(form.has('citations') ? { annotations: [citation(text)] } : {}),
  };
  return {
    ...head,
    object: 'chat.completion',
    choices: [{ index: 0, message, logprobs: null, finish_reason: form.has('no finish') ? null : finish }],
    ...(form.has('no usage') ? {} : { usage }),
  };
}

/** Prices in USD for a million tokens of input and of output. */
const PRICES = { input: 1, output: 4 };

function usageOf({ tokens, reasoningTokens }: ChatOutput, { form, input, cached }: SimulatedReplyContext): JsonObject {
  const stated = form.has('zero usage') ? 0 : form.excludesReasoning ? tokens - reasoningTokens : tokens;
  return {
    prompt_tokens: input,
    completion_tokens: stated,
    total_tokens: input + (form.has('zero usage') ? 0 : tokens),
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
    ...(form.statesCost ? { cost: (input * PRICES.input + tokens * PRICES.output) / 1e6 } : {}),
  };
}
