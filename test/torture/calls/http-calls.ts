// THE LIST of calls over HTTP: one for each way in which a route is served.
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { FORM_TYPE, formOf, type Part } from '../../support/form.ts';
import { userMessage } from '../../support/native-frames.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { field, file, model } from '../../support/stages/audio.ts';
import { UPLOAD } from '../../support/stages/files.ts';
import { editParts, IMAGE_MODEL, PNG_URL } from '../../support/stages/images.ts';
import type { HttpCall, Surface } from './call.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const INPUT = [userMessage('é hello')];
const COMPACTION = [...INPUT, { type: 'compaction_trigger' }];
const CHAT = { model: 'model-a', messages: [{ role: 'user', content: 'é hello' }] };

const MESSAGES = { ...CHAT, max_tokens: 1_000, thinking: { type: 'adaptive' } };

type More = Partial<Pick<HttpCall, 'reply' | 'exchanges' | 'retry' | 'metered' | 'relaysStatus'>>;

const TURN = { reply: 'json', exchanges: 1, retry: 'before commit', metered: true, relaysStatus: false } as const;
const ANSWERED: More = { exchanges: 0, metered: false };

const post = (name: string, surface: Surface, path: string, body: JsonObject, more: More = {}): HttpCall => ({
  ...TURN,
  ...{ name, surface, path, method: 'POST', headers: JSON_TYPE, body: Buffer.from(JSON.stringify(body)) },
  ...more,
});

const form = (name: string, surface: Surface, path: string, parts: readonly Part[], more: More = {}): HttpCall => ({
  ...TURN,
  ...{ name, surface, path, method: 'POST', headers: { 'content-type': FORM_TYPE }, body: formOf(parts) },
  ...more,
});

const get = (name: string, surface: Surface, path: string, more: More = ANSWERED): HttpCall => ({
  ...TURN,
  ...{ name, surface, path, method: 'GET', headers: {}, body: Buffer.alloc(0) },
  ...more,
});

const NATIVE = '/backend-api/agent/responses';
const EVENTS: More = { reply: 'events' };
const ONCE: More = { retry: 'before head' };
const STREAMED: More = { retry: 'never', metered: false };
/** The answer states only the tokens of the image. The row also has those of the model that made it. */
const HOSTED: More = { metered: false };
const PASSED: More = { reply: 'other', metered: false, retry: 'never', relaysStatus: true };

export const HTTP_CALLS: readonly HttpCall[] = [
  post('native', 'native', NATIVE, turnBody('é hello', { stream: false })),
  post('native events', 'native', NATIVE, turnBody('é hello'), EVENTS),
  post('public', 'public', '/v1/responses', { model: 'model-a', input: 'é hello' }),
  post('public events', 'public', '/v1/responses', { model: 'model-a', input: 'é hello', stream: true }, EVENTS),
  post('chat', 'chat', '/v1/chat/completions', CHAT),
  post(
    'chat chunks',
    'chat',
    '/v1/chat/completions',
    { ...CHAT, stream: true, stream_options: { include_usage: true } },
    { reply: 'chunks' },
  ),
  post('messages', 'messages', '/v1/messages', MESSAGES),
  post('messages blocks', 'messages', '/v1/messages', { ...MESSAGES, stream: true, stop_sequences: ['never said'] }, { reply: 'blocks' }),
  post('compact', 'native', `${NATIVE}/compact`, { model: 'model-a', input: INPUT }, ONCE),
  post('public compaction', 'public', '/v1/responses', { model: 'model-a', input: COMPACTION }, ONCE),
  post(
    'public compaction events',
    'public',
    '/v1/responses',
    { model: 'model-a', input: COMPACTION, stream: true },
    { ...ONCE, ...EVENTS },
  ),
  post('native image', 'native', '/backend-api/agent/images/generations', { model: IMAGE_MODEL, prompt: 'a cat' }),
  post('native image edit', 'native', '/backend-api/agent/images/edits', {
    model: IMAGE_MODEL,
    prompt: 'a',
    images: [{ image_url: PNG_URL }],
  }),
  post('public image', 'public', '/v1/images/generations', { model: IMAGE_MODEL, prompt: 'a cat' }, HOSTED),
  form('public image edit', 'public', '/v1/images/edits', editParts(), HOSTED),
  form('transcribe', 'native', '/backend-api/transcribe', [model, field('language', 'en'), file()], {
    ...STREAMED,
    relaysStatus: true,
  }),
  form('public transcription', 'public', '/v1/audio/transcriptions', [model, field('language', 'en'), file()], STREAMED),
  post(
    'file',
    'native',
    '/backend-api/files',
    { file_name: 'a.txt', file_size: 3, use_case: 'agent' },
    { metered: false, relaysStatus: true },
  ),
  form('public file', 'public', '/v1/files', UPLOAD, { exchanges: 4, metered: false }),
  get('key set', 'native', '/backend-api/meter/agent-identities/jwks', { ...PASSED, retry: 'before commit' }),
  post('analytics', 'native', '/backend-api/agent/analytics-events/events', { events: [] }, PASSED),
  get('native models', 'native', '/backend-api/agent/models'),
  get('public models', 'public', '/v1/models'),
  get('pool usage', 'native', '/backend-api/meter/usage'),
  get('key usage', 'public', '/v1/usage'),
  get('files', 'public', '/v1/files'),
  post(
    'mcp',
    'operator',
    '/mcp',
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'service_status', arguments: {} } },
    ANSWERED,
  ),
];

/** The calls that reach an account. */
export const DISPATCHED_CALLS = HTTP_CALLS.filter(({ exchanges }) => exchanges > 0);

/** The calls that the gateway answers. */
export const ANSWERED_CALLS = HTTP_CALLS.filter(({ exchanges }) => exchanges === 0);

/** The calls that accounts of another API answer: streamed turns and whole answers of every surface except the native one. */
export const TURN_CALLS = DISPATCHED_CALLS.filter(
  ({ path, body }) =>
    /\/(?:responses|completions|messages)$/.test(path) && !body.includes('compaction_trigger') && !body.includes('"stream":false'),
);

export function callNamed(name: string): HttpCall {
  const call = HTTP_CALLS.find((one) => one.name === name);
  if (!call) throw new Error(`no call ${name}`);
  return call;
}
