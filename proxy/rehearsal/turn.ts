// A believable turn: its events, and the response that they add up to.
import type { Json, JsonObject } from '../turn/json.ts';
import { isObject } from '../turn/json.ts';
import type { Account } from './account.ts';
import type { Ids } from './ids.ts';
import { type ItemMaker, itemOf, type Made, reasoningItem } from './items.ts';
import { planOf, wantsCiphertext } from './plan.ts';
import { promptOf } from './prompt.ts';
import { textOf } from './reading.ts';

export interface TurnSetting {
  readonly account: Account;
  readonly ids: Ids;
  /** Unix milliseconds. */
  readonly now: number;
  /** The size of the request's body: what its input is reckoned from. */
  readonly bytes: number;
}

export interface BelievableTurn {
  /** Every event, the terminal one last; sequence numbers count from 0. */
  readonly events: readonly JsonObject[];
  /** What a client that does not stream gets. */
  readonly response: JsonObject;
}

/** The events that only say that a turn has begun. */
export const lifecycleEvents = 2;

/** Plays the whole turn that the request asks for. */
export function believableTurn(body: JsonObject, setting: TurnSetting): BelievableTurn {
  const { account, ids } = setting;
  const prompt = promptOf(body);
  const plan = planOf(prompt, account.id);
  const events: JsonObject[] = [];
  const maker: ItemMaker = {
    ids,
    account,
    emit: (type, members) => events.push({ type, sequence_number: events.length, ...members }),
  };

  const running = responseOf(body, ids.next('resp'), setting.now);
  maker.emit('response.created', { response: running });
  maker.emit('response.in_progress', { response: running });

  const made: Made[] = [];
  const reasoning = thinks(body) && !prompt.wantsCompaction ? reasoningItem(maker, 0, reasoningWants(body)) : undefined;
  if (reasoning !== undefined) made.push(reasoning);
  const status = plan.stopsShort ? 'incomplete' : 'completed';
  for (const [i, part] of plan.parts.entries()) {
    made.push(itemOf(maker, made.length, part, i === plan.parts.length - 1 ? status : 'completed'));
  }

  const response = {
    ...running,
    status,
    incomplete_details: plan.stopsShort ? { reason: 'max_output_tokens' } : null,
    output: made.map(({ item }) => item),
    usage: usageOf(setting.bytes, made, reasoning),
  };
  maker.emit(`response.${status}`, { response });
  return { events, response };
}

/** The response while it runs: what the client asked for is echoed, the bulk of it (tools, instructions, input) is not. */
function responseOf(body: JsonObject, id: string, now: number): JsonObject {
  return {
    id,
    object: 'response',
    created_at: Math.floor(now / 1000),
    status: 'in_progress',
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: body.max_output_tokens ?? null,
    model: body.model ?? null,
    output: [],
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: body.previous_response_id ?? null,
    reasoning: body.reasoning ?? null,
    service_tier: 'default',
    store: false,
    temperature: body.temperature ?? 1,
    text: body.text ?? { format: { type: 'text' } },
    tool_choice: body.tool_choice ?? 'auto',
    tools: [],
    top_p: body.top_p ?? 1,
    truncation: 'disabled',
    usage: null,
    metadata: {},
  };
}

function thinks(body: JsonObject): boolean {
  return isObject(body.reasoning) && body.reasoning.effort !== 'none';
}

function reasoningWants(body: JsonObject): { readonly summary: boolean; readonly ciphertext: boolean } {
  const summary: Json | undefined = isObject(body.reasoning) ? body.reasoning.summary : undefined;
  return { summary: (textOf(summary) ?? 'none') !== 'none', ciphertext: wantsCiphertext(body.include) };
}

/** Four bytes of request are a token of input. */
export function usageOf(bytes: number, made: readonly Made[], reasoning?: Made): JsonObject {
  const input = Math.ceil(bytes / 4);
  const output = made.reduce((sum, { tokens }) => sum + tokens, 0);
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning?.tokens ?? 0 },
    total_tokens: input + output,
  };
}
