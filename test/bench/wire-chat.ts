// The answers of an upstream that speaks Chat Completions: the same text as in `wire.ts`, in the chunks of a compatible server.
import { type Answers, chunk, head, MODEL, WORDS, whole } from './wire.ts';

const USAGE = { prompt_tokens: 90, completion_tokens: 24, total_tokens: 114, prompt_tokens_details: { cached_tokens: 64 } };
const COMPLETION = { id: 'chatcmpl-0a1b2c3d4e5f60718293a4b5', created: 1_790_000_000, model: MODEL, system_fingerprint: 'fp_0a1b2c3d4e' };

const data = (text: string): string => chunk(`data: ${text}\n\n`);

const piece = (delta: object, finish_reason: string | null = null): string =>
  JSON.stringify({ ...COMPLETION, object: 'chat.completion.chunk', choices: [{ index: 0, delta, logprobs: null, finish_reason }] });

export const CHAT_ANSWERS: Answers = {
  models: whole({ object: 'list', data: [{ id: MODEL, object: 'model', created: 1_790_000_000, owned_by: 'bench' }] }),
  answer: whole({
    ...COMPLETION,
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: WORDS, refusal: null }, logprobs: null, finish_reason: 'stop' }],
    usage: USAGE,
  }),
  head:
    head('content-type: text/event-stream; charset=utf-8', 'transfer-encoding: chunked') + data(piece({ role: 'assistant', content: '' })),
  delta: data(piece({ content: ' @????????????????' }).replace('1790000000', '179#######')),
  tail: `${data(piece({}, 'stop'))}${data(
    JSON.stringify({ ...COMPLETION, object: 'chat.completion.chunk', choices: [], usage: USAGE }),
  )}${data('[DONE]')}0\r\n\r\n`,
};
