// `count_tokens` compared with counts that a provider published (AM63).
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { until } from '../../support/until.ts';

interface Published {
  readonly source: string;
  readonly requests: readonly ChatRequest[];
}

/** A Chat request, with the prompt tokens that the provider stated. */
interface ChatRequest {
  readonly name: string;
  readonly prompt_tokens: number;
  /** The part that the member `prediction` adds, which messages do not have; it is the same in each published request with this member. */
  readonly prediction_tokens?: number;
  readonly messages: readonly { readonly role: string; readonly name?: string; readonly content: string }[];
  readonly tools?: readonly { readonly function: JsonObject }[];
}

const FILES = ['openai-cookbook', 'predicted-outputs'].map((name) => new URL(`../../fixtures/token-counts/${name}.json`, import.meta.url));
const PUBLISHED = FILES.map((file) => JSON.parse(readFileSync(file, 'utf8')) as Published);
const WITHIN = 0.15;

/** The estimate by bytes is half of this number. */
const TOKENS = 100;

let gate: TestGateway;
before(async () => {
  gate = await startGateway({ upstream: { accounts: ['north'] } });
  // On a busy machine a tokenizer that is still starting does not answer in time, and texts count by their bytes (AM62).
  const body = { model: 'model-a', messages: [{ role: 'user', content: ' a'.repeat(TOKENS) }] };
  await until('the tokenizer', async () => {
    const { json } = await gate.send('/v1/messages/count_tokens', { body });
    return json.input_tokens >= TOKENS || undefined;
  });
});
after(() => gate.close());

/** Messages have no names, so a name becomes part of the text. */
function asMessages({ messages, tools }: ChatRequest): JsonObject {
  const [first] = messages;
  const system = first?.role === 'system' ? first : undefined;
  const others = system ? messages.slice(1) : messages;
  return {
    model: 'model-a',
    ...(system ? { system: system.content } : {}),
    messages: others.map(({ role, name, content }) => ({ role, content: name === undefined ? content : `${name}: ${content}` })),
    ...(tools
      ? { tools: tools.map(({ function: { name, description, parameters } }) => ({ name, description, input_schema: parameters })) }
      : {}),
  };
}

for (const { source, requests } of PUBLISHED) {
  for (const request of requests) {
    const published = request.prompt_tokens - (request.prediction_tokens ?? 0);
    test(`[AM63] ${request.name}: within 15 % of the ${published} tokens of ${source.split(' ')[0]}`, async () => {
      const { status, json, text } = await gate.send('/v1/messages/count_tokens', { body: asMessages(request) });
      assert.equal(status, 200, text);
      const error = json.input_tokens / published - 1;
      assert.ok(Math.abs(error) <= WITHIN, `${json.input_tokens} of ${published}`);
      assert.equal(gate.upstream.turns().length, 0);
    });
  }
}
