// The turns of an account's test. They are short, and the same for every account (AA87).
import type { JsonObject } from '../../turn/json/json.ts';
import type { Body } from '../../turn/turn.ts';

/** The least output that the platforms accept. */
export const OUTPUT_TOKENS = 16;

const TOOL = 'poolgate_test';

const message = (role: 'developer' | 'user', text: string): JsonObject => ({
  type: 'message',
  role,
  content: [{ type: 'input_text', text }],
});

const INPUT = [message('user', 'Hello.'), message('developer', 'This is a test of the connection. Answer in one word.')];

const common = (model: string): Body => ({
  model,
  instructions: 'You are a helpful assistant.',
  max_output_tokens: OUTPUT_TOKENS,
  stream: true,
  store: false,
});

const TOOLS: Body = {
  tools: [
    {
      type: 'function',
      name: TOOL,
      description: 'Takes no arguments, and answers one word.',
      parameters: { type: 'object', properties: {}, required: [], additionalProperties: false },
      strict: true,
    },
  ],
  parallel_tool_calls: false,
};

export const plainBody = (model: string): Body => ({ ...common(model), input: INPUT });

/** @param forced false if the account cannot take a forced call */
export const toolBody = (model: string, { forced }: { readonly forced: boolean }): Body => ({
  ...common(model),
  ...TOOLS,
  input: INPUT,
  tool_choice: forced ? { type: 'function', name: TOOL } : 'auto',
});

/** @param output the items of the reply, including the call */
export function resultBody(model: string, output: readonly JsonObject[]): Body {
  const results = output
    .filter(({ type }) => type === 'function_call')
    .map(({ call_id }): JsonObject => ({ type: 'function_call_output', call_id: call_id ?? null, output: 'yes' }));
  return { ...common(model), ...TOOLS, input: [...INPUT, ...output, ...results, message('user', 'Thank you.')], tool_choice: 'auto' };
}
