// The official OpenAI SDK on Chat Completions: for every reply of an account, the chunks have the content of the collected completion.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';
import type { JsonObject } from '../../proxy/turn/json/json.ts';
import { SeededRandom } from '../simulation/seeded-random.ts';
import { KEY, startGateway } from '../support/gateway.ts';
import { replyEvents } from '../support/rehearsal-replies.ts';

const REPLIES = 120;

/** Quotes, escapes, characters of several bytes, characters that only JavaScript treats as line ends, and the empty text. */
const TEXTS = ['', 'a', 'hello "world"\n', 'ünï ✓ 😀', '\\u0041 \\', '{"a":[1,2]}', 'x'.repeat(300), '\u2028 line', 'tab\t'] as const;

type Members = Record<string, unknown>;

/** The events of a reply. Its items are streamed in each way of providers: by deltas, opened and finished, or only finished. */
class GeneratedReply {
  readonly events: JsonObject[] = [];
  readonly #random: SeededRandom;

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
    this.#add('response.created', { response: { id: 'r', object: 'response', status: 'in_progress', output: [] } });
    const items = Array.from({ length: Math.floor(this.#random.between(0, 4)) }, (_, i) => this.#item(i));
    const status = this.#one(['completed', 'completed', 'incomplete']);
    const details = { incomplete_details: { reason: this.#one(['max_output_tokens', 'content_filter']) } };
    const output = this.#random.next() < 0.3 ? [] : items;
    const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
    this.#add(`response.${status}`, {
      response: { id: 'r', object: 'response', status, output, usage, ...(status === 'incomplete' ? details : {}) },
    });
  }

  #item(index: number): Members {
    const way = this.#one(['deltas', 'whole', 'done alone']);
    const type = this.#one(['message', 'message', 'function_call', 'custom_tool_call', 'reasoning']);
    const id = `item_${index}`;
    const at = { output_index: index };
    const member = type === 'function_call' ? 'arguments' : 'input';
    const name = type === 'function_call' ? 'look_up' : 'apply_patch';
    const items: Readonly<Record<string, () => readonly [opened: Members, finished: Members]>> = {
      message: () => [{ content: [] }, { content: this.#parts() }],
      reasoning: () => [{ summary: [] }, { summary: [], encrypted_content: 'sealed' }],
    };
    const call = (): readonly [Members, Members] => {
      const common = { call_id: `call_${index}`, name };
      return [
        { ...common, [member]: '' },
        { ...common, [member]: this.#text() },
      ];
    };
    const [opened, finished] = (items[type] ?? call)();
    const item = { type, id, ...(type === 'message' ? { role: 'assistant' } : {}), ...finished };
    if (way !== 'done alone') this.#add('response.output_item.added', { ...at, item: { ...item, ...opened } });
    if (way === 'deltas' && type === 'message') {
      for (const part of finished.content as readonly Members[]) {
        const refuses = part.type === 'refusal';
        this.#deltas(`response.${refuses ? 'refusal' : 'output_text'}.delta`, { ...at, item_id: id }, String(part.text ?? part.refusal));
      }
    } else if (way === 'deltas' && type !== 'reasoning') {
      const kind = type === 'function_call' ? 'function_call_arguments' : 'custom_tool_call_input';
      this.#deltas(`response.${kind}.delta`, { ...at, item_id: id }, String(finished[member]));
    }
    this.#add('response.output_item.done', { ...at, item });
    return item;
  }

  #parts(): readonly Members[] {
    return Array.from({ length: this.#one([1, 1, 2]) }, () =>
      this.#random.next() < 0.85
        ? { type: 'output_text', text: this.#text(), annotations: [] }
        : { type: 'refusal', refusal: this.#text() },
    );
  }

  #text(): string {
    return Array.from({ length: this.#one([1, 2, 3]) }, () => this.#one(TEXTS)).join('');
  }

  #deltas(type: string, members: Members, text: string): void {
    const characters = [...text];
    while (characters.length > 0)
      this.#add(type, { ...members, delta: characters.splice(0, Math.ceil(this.#random.between(0, 12))).join('') });
  }

  #add(type: string, members: Members): void {
    this.events.push({ type, sequence_number: this.events.length, ...members } as JsonObject);
  }

  #one<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random.between(0, list.length))] as T;
  }
}

const BODY = {
  model: 'model-a',
  messages: [{ role: 'user' as const, content: 'hello' }],
  tools: [
    { type: 'function' as const, function: { name: 'look_up' } },
    { type: 'custom' as const, custom: { name: 'apply_patch' } },
  ],
};

/** A message without text has null or an empty string, which mean the same. */
const said = ({ choices: [choice] }: OpenAI.ChatCompletion): unknown => {
  const { content, refusal, tool_calls: calls = [] } = choice?.message ?? {};
  const called = calls.map((call) => [call.id, call.type, call.type === 'function' ? call.function : call.custom]);
  return [content || null, refusal || null, called, choice?.finish_reason];
};

/** Joins the chunks without the SDK's helper, because the helper refuses a reply that was cut short. */
async function joined(chunks: AsyncIterable<OpenAI.ChatCompletionChunk>): Promise<OpenAI.ChatCompletion> {
  const message: Members = { content: '', refusal: '' };
  const calls: Record<string, Record<string, string>>[] = [];
  let finish: unknown;
  let roles = 0;
  for await (const { choices } of chunks) {
    const [choice] = choices;
    if (!choice) continue;
    const { role, content, refusal, tool_calls: parts = [] } = choice.delta;
    if (role) roles += 1;
    message.content += content ?? '';
    message.refusal += refusal ?? '';
    for (const { index, ...part } of parts) {
      const { id, type, ...wrappers } = part as Record<string, never>;
      calls[index] ??= { id, type } as never;
      const call = calls[index] as Record<string, Record<string, string>>;
      for (const [wrapper, members] of Object.entries(wrappers)) {
        call[wrapper] ??= {};
        for (const [name, text] of Object.entries(members))
          (call[wrapper] as Record<string, string>)[name] = (call[wrapper]?.[name] ?? '') + text;
      }
    }
    finish ??= choice.finish_reason;
  }
  assert.equal(roles, 1);
  return { choices: [{ message: { ...message, tool_calls: calls }, finish_reason: finish }] } as never;
}

test('[D4] the chunks of a reply have the content of its collected completion, for all items and all ways to stream them', async () => {
  await using gate = await startGateway({ upstream: { accounts: [{ id: 'north', strict: false }] } });
  const { completions } = new OpenAI({ apiKey: KEY, baseURL: `${gate.url}/v1`, maxRetries: 0 }).chat;
  for (let seed = 1; seed <= REPLIES; seed++) {
    const { events } = new GeneratedReply(seed);
    gate.upstream.next('north', replyEvents(events), replyEvents(events));
    const collected = await completions.create(BODY);
    const streamed = await joined(await completions.create({ ...BODY, stream: true }));
    assert.deepEqual(said(streamed), said(collected), `seed ${seed}`);
  }
});
