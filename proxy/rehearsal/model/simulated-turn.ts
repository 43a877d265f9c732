// Simulates a turn: its events, and the response in its terminal event.
import { asList, asString, isObject, type Json, type JsonObject } from '../../turn/json/json.ts';
import type { SimulatedAccount } from '../account/simulated-account.ts';
import type { IdSequence } from './id-sequence.ts';
import { simulatedTokens } from './input-tokens.ts';
import { type ItemContext, type OutputItem, outputItem, reasoningItem } from './output-items.ts';
import { type OutputPlan, planOf } from './output-plan.ts';
import { imageUsageOf } from './simulated-image.ts';
import { readTurnRequest } from './turn-request.ts';

export interface TurnContext {
  readonly account: SimulatedAccount;
  readonly ids: IdSequence;
  /** Unix milliseconds. */
  readonly now: number;
  /** The size of the request's body, from which the input tokens are estimated. */
  readonly bytes: number;
  /** The value of the header `session-id`. */
  readonly session?: string | undefined;
}

export interface SimulatedTurn {
  /** All events, the terminal one last. Sequence numbers are counted from 0. */
  readonly events: readonly JsonObject[];
  /** The answer to a client that does not stream. */
  readonly response: JsonObject;
}

export function simulateTurn(body: JsonObject, { account, ids, now, bytes, session }: TurnContext): SimulatedTurn {
  const request = readTurnRequest(body);
  const plan = planOf(request, account.id);
  const events: JsonObject[] = [];
  const context: ItemContext = {
    ids,
    account,
    emit: (type, members) => events.push({ type, sequence_number: events.length, ...members }),
  };

  const running = responseOf(body, ids.next('resp'), now);
  context.emit('response.created', { response: running });
  context.emit('response.in_progress', { response: running });

  const output: OutputItem[] = [];
  const reasoning =
    reasons(body) && !request.wantsCompaction ? reasoningItem(context, 0, { ...reasoningOptions(body), thought: plan.thought }) : undefined;
  if (reasoning !== undefined) output.push(reasoning);
  const { incomplete } = plan;
  const status = incomplete ? 'incomplete' : 'completed';
  for (const [i, part] of plan.parts.entries()) {
    output.push(outputItem(context, output.length, part, i === plan.parts.length - 1 ? status : 'completed'));
  }

  const response = {
    ...running,
    status,
    completed_at: incomplete ? null : Math.floor(now / 1000),
    incomplete_details: incomplete ? { reason: incomplete } : null,
    output: output.map(({ item }) => item),
    usage: simulatedUsage(bytes, output, reasoning, account.manners.cachesBySession ? cachedBy(body, account, bytes, session) : 0),
    ...toolUsageOf(plan),
  };
  context.emit(`response.${status}`, { response });
  return { events, response };
}

/** The events of a frame with `generate: false`: an empty response, which later frames can continue. */
export function simulatePrewarm(body: JsonObject, { ids, now }: TurnContext): readonly JsonObject[] {
  const running = responseOf(body, ids.next('resp'), now);
  return [
    { type: 'response.created', sequence_number: 0, response: running },
    {
      type: 'response.completed',
      sequence_number: 1,
      response: { ...running, status: 'completed', completed_at: Math.floor(now / 1000) },
    },
  ];
}

/**
 * The response while it runs, with every member of the public API. It repeats the settings of the request, but not the large members
 * (instructions, input, tools, metadata).
 */
function responseOf(body: JsonObject, id: string, now: number): JsonObject {
  const { effort = null, summary = null }: JsonObject = isObject(body.reasoning) ? body.reasoning : {};
  return {
    id,
    object: 'response',
    created_at: Math.floor(now / 1000),
    completed_at: null,
    status: 'in_progress',
    access_programs: null,
    background: false,
    error: null,
    frequency_penalty: body.frequency_penalty ?? 0,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    metadata: {},
    model: body.model ?? null,
    output: [],
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    presence_penalty: body.presence_penalty ?? 0,
    previous_response_id: body.previous_response_id ?? null,
    prompt_cache_key: body.prompt_cache_key ?? null,
    reasoning: { effort, summary },
    safety_identifier: body.safety_identifier ?? null,
    service_tier: 'default',
    store: false,
    temperature: body.temperature ?? 1,
    text: body.text ?? { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: body.tool_choice ?? 'auto',
    tools: [],
    top_logprobs: body.top_logprobs ?? 0,
    top_p: body.top_p ?? 1,
    truncation: body.truncation ?? 'disabled',
    usage: null,
    user: body.user ?? null,
  };
}

function reasons(body: JsonObject): boolean {
  return isObject(body.reasoning) && body.reasoning.effort !== 'none';
}

function reasoningOptions(body: JsonObject): { readonly summary: boolean; readonly ciphertext: boolean } {
  const summary: Json | undefined = isObject(body.reasoning) ? body.reasoning.summary : undefined;
  return { summary: (asString(summary) ?? 'none') !== 'none', ciphertext: asList(body.include).includes('reasoning.encrypted_content') };
}

/** The usage of the image tool. The tokens of the model do not include it. */
function toolUsageOf({ parts }: OutputPlan): JsonObject {
  const image = parts.find((part) => part.kind === 'image');
  return image?.prompt === undefined ? {} : { tool_usage: { image_gen: imageUsageOf(image.prompt) } };
}

const cachedBy = (body: JsonObject, { cache }: SimulatedAccount, bytes: number, session: string | undefined): number =>
  cache.cachedTokens(body, session, simulatedTokens(bytes));

export function simulatedUsage(bytes: number, items: readonly OutputItem[], reasoning?: OutputItem, cached = 0): JsonObject {
  const input = simulatedTokens(bytes);
  const output = items.reduce((sum, { tokens }) => sum + tokens, 0);
  return {
    input_tokens: input,
    input_tokens_details: { cache_write_tokens: 0, cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning?.tokens ?? 0 },
    total_tokens: input + output,
  };
}
