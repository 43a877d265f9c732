// S4: marked prompts, keys, tokens, cookies, file names, header values and query strings pass each route and each failure; afterwards no
// log line, store file, admin answer, /mcp answer or error has any of them. A new route is a row of ROUTES, a new failure a row of
// FAILURES, and both are crossed.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { Fault } from '../../../proxy/rehearsal/faults/fault.ts';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { FORM_TYPE, formOf } from '../../support/form.ts';
import { bearerOf, startGateway, type TestGateway } from '../../support/gateway.ts';
import { TOOL_NAMES } from '../../support/mcp.ts';
import { headOf, RawClient } from '../../support/network/raw.ts';
import { replyBytes, replyEvents, replyJson, turnBody } from '../../support/rehearsal-replies.ts';
import { sampleOf } from '../../support/sample.ts';
import { isChat } from '../../support/turns/turn-paths.ts';
import { connect, type TestSocket, UpgradeRefusal } from '../../support/websocket.ts';

/** The marker that is searched for: every canary begins with it, so one search finds all of them. */
const MARK = 'Canary7f3a';
const canary = (name: string): string => `${MARK}-${name}-secret`;

const IMAGE = `data:image/png;base64,${Buffer.from(canary('image')).toString('base64')}`;

/** Texts of the client, each with its own place in a request. */
const PROMPT = canary('prompt');
const OPERATOR = `pg-mcp-${canary('token')}`;
const accountOf = (index: number): string => `account${index}`;
const HEADERS: Readonly<Record<string, string>> = {
  cookie: `session=${canary('cookie')}`,
  'user-agent': canary('user-agent'),
  'x-agent-window-id': canary('window'),
  'x-agent-turn-metadata': JSON.stringify({ cwd: canary('folder') }),
  'session-id': canary('session'),
  session_id: canary('session-too'),
  originator: canary('originator'),
  'x-forwarded-for': canary('forwarded'),
  'x-request-id': canary('request'),
  traceparent: canary('trace'),
  'x-anything': canary('header'),
};
const QUERY = `?client_version=${canary('query')}&api_key=${canary('query-key')}`;

const content = [
  { type: 'input_text', text: `${PROMPT} is what I want to know` },
  { type: 'input_image', image_url: IMAGE, detail: 'high' },
  {
    type: 'input_file',
    filename: canary('file-name'),
    file_data: `data:text/plain;base64,${Buffer.from(canary('file')).toString('base64')}`,
  },
];
const marked: JsonObject = {
  instructions: canary('instructions'),
  input: [
    { type: 'message', role: 'user', content },
    { type: 'function_call', call_id: 'call-1', name: 'f', arguments: JSON.stringify({ path: canary('arguments') }) },
    { type: 'function_call_output', call_id: 'call-1', output: canary('tool-output') },
    { type: 'function_call', call_id: 'call-2', name: 'shell', arguments: JSON.stringify({ command: `rg ${canary('command')}` }) },
    { type: 'function_call_output', call_id: 'call-2', output: `src/${canary('path')}.ts:5: ${canary('found')}\n`.repeat(20) },
  ],
  tools: [{ type: 'function', name: 'f', description: canary('tool'), parameters: { type: 'object', properties: {} } }],
  metadata: { note: canary('metadata') },
  prompt_cache_key: canary('cache-key'),
  user: canary('user'),
  client_metadata: { turn_id: canary('turn') },
};

/** The Chat request with a marked text in every place. */
const markedChat: JsonObject = {
  messages: [
    { role: 'system', content: canary('instructions') },
    {
      role: 'user',
      name: canary('participant'),
      content: [
        { type: 'text', text: `${PROMPT} is what I want to know` },
        { type: 'image_url', image_url: { url: IMAGE } },
        {
          type: 'file',
          file: { filename: canary('file-name'), file_data: `data:text/plain;base64,${Buffer.from(canary('file')).toString('base64')}` },
        },
      ],
    },
    {
      role: 'assistant',
      tool_calls: [{ id: 'call-1', type: 'function', function: { name: 'f', arguments: JSON.stringify({ path: canary('arguments') }) } }],
    },
    { role: 'tool', tool_call_id: 'call-1', content: canary('tool-output') },
  ],
  tools: [{ type: 'function', function: { name: 'f', description: canary('tool'), parameters: { type: 'object', properties: {} } } }],
  metadata: { note: canary('metadata') },
  prompt_cache_key: canary('cache-key'),
  user: canary('user'),
};

/** What a client of Messages sends. */
const markedMessages: JsonObject = {
  max_tokens: 1_000,
  system: [{ type: 'text', text: canary('instructions') }],
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: `${PROMPT} is what I want to know` },
        { type: 'image', source: { type: 'url', url: IMAGE } },
        { type: 'document', title: canary('file-name'), source: { type: 'text', media_type: 'text/plain', data: canary('file') } },
      ],
    },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'call-1', name: 'f', input: { path: canary('arguments') } }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call-1', content: canary('tool-output') }] },
  ],
  tools: [{ name: 'f', description: canary('tool'), input_schema: { type: 'object', properties: {} } }],
  stop_sequences: [canary('stop')],
  metadata: { user_id: canary('user') },
};

/** A picture with a mark after its header; nine header bytes leave the base64 of the mark unchanged. */
const PICTURE = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n.', 'latin1'), Buffer.from(canary('image'))]);

/** All texts that an error of a provider might repeat. */
const WISH = `${PROMPT} with ${canary('arguments')}`;

/** The parts of an image edit, each with marks in all of its texts. No catalog has the model. */
const imageForm = formOf([
  { name: 'model', value: canary('image-model') },
  { name: 'prompt', value: WISH },
  { name: 'image', value: PICTURE, filename: canary('image-name'), type: 'image/png' },
  { name: 'mask', value: PICTURE, filename: canary('mask-name'), type: `image/${MARK}` },
]);
const form = { body: imageForm, headers: { 'content-type': FORM_TYPE } } as const;
const picture = { model: canary('image-model'), prompt: WISH, user: canary('user') };
const compacted = [...(marked.input as Json[]), { type: 'compaction_trigger' }];

interface Request {
  readonly method?: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the request can reach an account, so it is crossed with the failures. */
  readonly dispatched?: true;
  /** The body is sent as a frame. */
  readonly over?: 'websocket';
}

const ROUTES: Readonly<Record<string, Request>> = {
  'a public stream': { path: '/v1/responses', body: { model: 'model-a', ...marked, stream: true }, dispatched: true },
  'a public answer': { path: '/v1/responses', body: { model: 'model-a', ...marked }, dispatched: true },
  'a native stream': { path: '/backend-api/agent/responses', body: turnBody('', marked), dispatched: true },
  'a native answer': { path: '/backend-api/agent/responses', body: turnBody('', { ...marked, stream: false }), dispatched: true },
  'the native alias': { path: '/backend-api/agent/v1/responses', body: turnBody('', marked), dispatched: true },
  'a public websocket': { path: '/v1/responses', body: { model: 'model-a', ...marked }, dispatched: true, over: 'websocket' },
  'a native websocket': { path: '/backend-api/agent/responses', body: turnBody('', marked), dispatched: true, over: 'websocket' },
  'its alias': { path: '/backend-api/agent/v1/responses', body: turnBody('', marked), dispatched: true, over: 'websocket' },
  'a wrong frame': { path: '/v1/responses', body: { ...marked, model: canary('model') }, over: 'websocket' },
  'an upgrade with an unknown key': {
    path: '/v1/responses',
    body: marked,
    headers: { authorization: `Bearer ${canary('key')}` },
    over: 'websocket',
  },
  'an image': { path: '/v1/images/generations', body: picture, dispatched: true },
  'an edited image': { path: '/v1/images/edits', ...form, dispatched: true },
  'a native image': { path: '/backend-api/agent/images/generations', body: picture, dispatched: true },
  'a native edited image': { path: '/backend-api/agent/images/edits', ...form, dispatched: true },
  'an image with a wrong parameter': { path: '/v1/images/generations', body: { ...picture, [canary('parameter')]: canary('value') } },
  'an edit with a part of another name': {
    path: '/v1/images/edits',
    ...form,
    body: formOf([
      { name: 'model', value: 'm' },
      { name: canary('part'), value: PICTURE, filename: canary('part-name') },
    ]),
  },
  'a form that is cut': { path: '/v1/images/edits', ...form, body: imageForm.subarray(0, -40) },
  'a form without a boundary': { path: '/v1/images/edits', ...form, headers: { 'content-type': `multipart/form-data; x=${MARK}` } },
  'a native compaction': { path: '/backend-api/agent/responses/compact', body: { model: 'model-a', ...marked }, dispatched: true },
  'the alias of it': { path: '/backend-api/agent/v1/responses/compact', body: { model: 'model-a', ...marked }, dispatched: true },
  'an explicit compaction': { path: '/v1/responses', body: { model: 'model-a', ...marked, input: compacted }, dispatched: true },
  'a streamed compaction': {
    path: '/v1/responses',
    body: { model: 'model-a', ...marked, input: compacted, stream: true },
    dispatched: true,
  },
  'a wrong replay': {
    path: '/v1/responses',
    body: { model: 'model-a', ...marked, input: [{ type: 'compaction', encrypted_content: canary('sealed'), [canary('member')]: 1 }] },
  },
  'the public models': { path: '/v1/models' },
  'the native models': { path: '/backend-api/agent/models', headers: { 'if-none-match': canary('etag') } },
  'a forwarded row': { path: '/backend-api/meter/agent-identities/jwks' },
  'an unsupported row': { path: '/v1/embeddings', body: { input: PROMPT } },
  'an unsupported row with an id': { path: `/v1/responses/${canary('id')}` },
  'a Chat stream': { path: '/v1/chat/completions', body: { model: 'model-a', ...markedChat, stream: true }, dispatched: true },
  'a Chat answer': { path: '/v1/chat/completions', body: { model: 'model-a', ...markedChat }, dispatched: true },
  'the Chat alias': {
    path: '/backend-api/agent/v1/chat/completions',
    body: { model: 'model-a', ...markedChat, stream: true },
    dispatched: true,
  },
  'a wrong parameter of Chat': { path: '/v1/chat/completions', body: { model: 'model-a', ...markedChat, stop: [canary('stop')] } },
  'a wrong message of Chat': {
    path: '/v1/chat/completions',
    body: { model: 'model-a', messages: [{ role: canary('role'), content: PROMPT }] },
  },
  'a wrong tool of Chat': {
    path: '/v1/chat/completions',
    body: { model: 'model-a', ...markedChat, tools: [{ type: 'custom', custom: { name: 'c', [canary('member')]: canary('value') } }] },
  },
  'a Messages stream': { path: '/v1/messages', body: { model: 'model-a', ...markedMessages, stream: true }, dispatched: true },
  'a message': {
    path: '/v1/messages',
    body: { model: 'model-a', ...markedMessages },
    headers: { 'x-claude-code-session-id': canary('session') },
    dispatched: true,
  },
  'a wrong member of Messages': { path: '/v1/messages', body: { model: 'model-a', ...markedMessages, container: canary('container') } },
  'a wrong block of Messages': {
    path: '/v1/messages',
    body: { model: 'model-a', ...markedMessages, messages: [{ role: 'user', content: [{ type: canary('type'), text: PROMPT }] }] },
  },
  'a wrong model of Messages': { path: '/v1/messages', body: { ...markedMessages, model: canary('model') } },
  'a key of another vendor': {
    path: '/v1/messages',
    body: { model: 'model-a', ...markedMessages },
    headers: { 'x-api-key': canary('key') },
  },
  // The name of a file is stored (Q21), so these names have no mark.
  'a transcription': {
    path: '/v1/audio/transcriptions',
    body: formOf([
      { name: 'model', value: 'gpt-4o-transcribe' },
      { name: 'prompt', value: canary('audio-prompt') },
      { name: 'keywords[]', value: canary('keyword') },
      { name: 'file', filename: canary('voice'), type: MARK, value: canary('sound') },
    ]),
    headers: { 'content-type': FORM_TYPE },
  },
  'a native transcription': {
    path: '/backend-api/transcribe',
    body: formOf([
      { name: 'model', value: canary('audio-model') },
      { name: canary('field'), value: canary('value') },
      { name: 'file', filename: canary('voice'), value: canary('sound') },
    ]),
    headers: { 'content-type': FORM_TYPE },
  },
  'a transcription that is refused behind its file': {
    path: '/v1/audio/transcriptions',
    body: formOf([
      { name: 'file', filename: canary('voice'), value: canary('sound') },
      { name: 'model', value: canary('audio-model') },
    ]),
    headers: { 'content-type': FORM_TYPE },
  },
  'a transcription with a field of its own': {
    path: '/v1/audio/transcriptions',
    body: formOf([
      { name: `${MARK} field`, value: canary('value') },
      { name: 'file', filename: canary('voice'), value: canary('sound') },
    ]),
    headers: { 'content-type': FORM_TYPE },
  },
  'a transcription that breaks off': {
    path: '/backend-api/transcribe',
    body: formOf([{ name: 'file', filename: canary('voice'), value: canary('sound') }]).subarray(0, -20),
    headers: { 'content-type': FORM_TYPE },
  },
  'a file upload': {
    path: '/v1/files',
    body: formOf([
      { name: 'file', filename: 'a', type: MARK, value: canary('bytes') },
      { name: 'purpose', value: 'user_data' },
    ]),
    headers: { 'content-type': FORM_TYPE },
  },
  'a file upload that is refused': {
    path: '/v1/files',
    body: formOf([
      { name: 'file', filename: canary('upload'), value: canary('bytes') },
      { name: 'purpose', value: canary('purpose').repeat(3) },
      { name: canary('field'), value: canary('value') },
    ]),
    headers: { 'content-type': FORM_TYPE },
  },
  'a file upload that breaks off': {
    path: '/v1/files',
    body: formOf([{ name: 'file', filename: canary('upload'), value: canary('bytes') }]).subarray(0, -20),
    headers: { 'content-type': FORM_TYPE },
  },
  'a file': { path: '/backend-api/files', body: { file_name: 'a', file_size: 3, use_case: 'codex', note: canary('note') } },
  'a file that is refused': { path: '/backend-api/files', body: { file_name: canary('upload'), file_size: canary('size') } },
  'an unknown file': { path: `/v1/files/${canary('file-id')}` },
  'the end of an unknown file': { method: 'POST', path: `/backend-api/files/${canary('file-id')}/uploaded` },
  'a turn with an unknown file': {
    path: '/v1/responses',
    body: { model: 'model-a', input: [{ role: 'user', content: [{ type: 'input_file', file_id: canary('file-id') }] }] },
  },
  "the operators' endpoint": { path: '/mcp', body: { jsonrpc: '2.0', id: 1, method: canary('method') } },
  "an operator's question": {
    path: '/mcp',
    body: {
      jsonrpc: '2.0',
      id: canary('rpc-id'),
      method: 'tools/call',
      params: {
        name: 'explain_selection',
        arguments: { key: accountOf(0), model: canary('asked-model'), continuity_id: canary('asked-session') },
      },
    },
    headers: { authorization: `Bearer ${OPERATOR}` },
  },
  "an operator's invalid question": {
    path: '/mcp',
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: canary('tool'), arguments: { [canary('argument')]: canary('value') }, _meta: { note: canary('meta') } },
    },
    headers: { authorization: `Bearer ${OPERATOR}` },
  },
  'an unknown path': { path: `/v1/${canary('path')}` },
  'an unknown method': { method: 'PATCH', path: '/v1/models' },
  'an unknown key': { path: '/v1/responses', body: { model: 'model-a', ...marked }, headers: { authorization: `Bearer ${canary('key')}` } },
  'a basic credential': { path: '/v1/models', headers: { authorization: `Basic ${canary('basic')}` } },
  'no JSON': { path: '/v1/responses', body: `{"input": "${PROMPT}` },
  'invalid members': { path: '/v1/responses', body: `{"model":"model-a","__proto__":{"a":"${PROMPT}"}}` },
  'another media type': { path: '/v1/responses', body: PROMPT, headers: { 'content-type': `text/${MARK}` } },
  'another coding': { path: '/v1/responses', body: PROMPT, headers: { 'content-encoding': MARK } },
  'a body that does not decode': { path: '/v1/responses', body: gzipSync(PROMPT).subarray(0, 20), headers: { 'content-encoding': 'gzip' } },
  'a body that is too large': { path: '/v1/responses', body: PROMPT.repeat(10_000) },
  'an unknown model': { path: '/v1/responses', body: { ...marked, model: canary('model') } },
  'a wrong parameter': { path: '/v1/responses', body: { model: 'model-a', ...marked, conversation: canary('conversation') } },
  'a wrong tool': { path: '/v1/responses', body: { model: 'model-a', ...marked, tools: [{ type: canary('type'), name: canary('name') }] } },
  'a wrong schema': {
    path: '/v1/responses',
    body: {
      model: 'model-a',
      ...marked,
      text: { format: { type: 'json_schema', name: 'a', strict: true, schema: { $ref: canary('ref') } } },
    },
  },
  'an effort of its own': {
    path: '/v1/responses',
    body: { model: 'model-a', ...marked, reasoning: { effort: 7, context: canary('context') } },
  },
};

const theirs = {
  'set-cookie': `session=${canary('their-cookie')}`,
  'openai-organization': canary('their-organization'),
  'x-request-id': canary('their-request'),
};
const said = (account: string): string => `You said: ${PROMPT} with ${bearerOf(account)} and "${canary('arguments')}"`;
const echo = (account: string): JsonObject => ({
  ...{ message: said(account), code: MARK, type: MARK, user_id: canary('owner'), cookie: canary('their-cookie') },
});
const created = { type: 'response.created', response: { id: canary('response'), output: [] } };
const delta = { type: 'response.output_text.delta', delta: canary('completion') };

type Scripted = (account: string) => Fault | readonly Fault[] | string;

const FAILURES: Readonly<Record<string, Scripted>> = {
  'nothing wrong': () => 'steady',
  'an answer that is marked': () =>
    replyEvents(
      [created, delta, { type: 'response.completed', response: { id: canary('response'), status: 'completed', output: [], usage: {} } }],
      { headers: theirs },
    ),
  ...Object.fromEntries(
    [400, 401, 402, 403, 404, 409, 413, 418, 422, 429, 500, 503].map((status) => [
      `${status} that repeats it all`,
      (account: string) => replyJson({ error: echo(account) }, { status, headers: theirs }),
    ]),
  ),
  'a page that repeats it': (account) =>
    replyBytes(`<html>${said(account)}</html>`, { status: 400, headers: { ...theirs, 'content-type': 'text/html' } }),
  'a refusal inside a 200': (account) => replyEvents([{ type: 'error', error: echo(account) }]),
  'a failed response inside a 200': (account) =>
    replyEvents([created, { type: 'response.failed', response: { id: canary('response'), status: 'failed', error: echo(account) } }]),
  'a failed JSON answer': (account) => replyJson({ id: canary('response'), status: 'failed', error: echo(account) }),
  'a stream that breaks off': () => [replyEvents([created, delta, delta]), { kind: 'cut', at: { events: 2 }, how: 'reset' }],
  'a stream without an end': () => replyEvents([created, delta]),
  'a compaction that is marked': () =>
    replyJson({ output: [{ type: 'compaction', encrypted_content: canary('completion') }] }, { headers: theirs }),
  'a compaction without content': () => replyJson({ output: [{ type: 'compaction', id: canary('completion') }] }, { headers: theirs }),
  'an event that is no JSON': () => replyBytes(`data: {"type":"response.completed","a":"${canary('completion')}\n\n`),
  'no answer': () => 'reset before headers',
  'a coded answer': () => replyBytes(PROMPT, { headers: { 'content-encoding': 'gzip' } }),
};

/** Failures that do not exist in frames, or do not end a turn there. */
const OVER_HTTP_ALONE: ReadonlySet<string> = new Set([
  'a page that repeats it',
  'a failed JSON answer',
  'a stream without an end',
  'a compaction that is marked',
  'a compaction without content',
  'an event that is no JSON',
  'a coded answer',
]);

/** Failures that only a websocket has. */
const OVER_WEBSOCKET: Readonly<Record<string, Scripted>> = {
  'an upgrade that is refused': () => 'refuse upgrade 503',
  'a close': () => [replyEvents([created, delta]), { kind: 'close', code: 1011, after: 2 }],
  'a frame that is no JSON': () => [
    replyBytes(`{"type":"response.output_text.delta","delta":"${canary('completion')}`),
    { kind: 'close', code: 1011, after: 1 },
  ],
  'a binary frame': () => [replyEvents([created, delta]), { kind: 'binary-frame', event: 2 }],
};

const chunk = (delta: JsonObject, finish: string | null = null): JsonObject => ({
  id: canary('response'),
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const spoken = chunk({ content: canary('completion') });

/** Failures of a Chat account, in addition to those by status. */
const OF_CHAT: Readonly<Record<string, Scripted>> = {
  'an answer that is marked': () =>
    replyEvents(
      [
        chunk({ role: 'assistant', reasoning_content: canary('reasoning') }),
        spoken,
        chunk({ tool_calls: [{ index: 0, id: canary('call'), function: { name: 'f', arguments: `{"a":"${canary('completion')}"}` } }] }),
        chunk({}, 'tool_calls'),
      ],
      { headers: theirs },
    ),
  'an error inside a 200': (account) => replyEvents([{ error: echo(account) }]),
  'an error after output': (account) => replyEvents([spoken, { error: echo(account) }]),
  'a JSON answer with an error': (account) => replyJson({ error: echo(account) }, { headers: theirs }),
  'a stream that breaks off': () => [replyEvents([spoken, spoken]), { kind: 'cut', at: { events: 1 }, how: 'reset' }],
  'a chunk that is no JSON': () => replyBytes(`data: {"choices":"${canary('completion')}\n\n`),
  'a page in place of a stream': (account) => replyBytes(said(account), { headers: { ...theirs, 'content-type': 'text/html' } }),
  'no answer': () => 'reset before headers',
};

const isOfStatus = (failure: string): boolean => /^\d{3} /.test(failure) || failure === 'nothing wrong';

/** The accounts of other APIs, by their differences from an agent account: their models take everything that the turns have (AA82). */
const OTHER_APIS = {
  responses: FAILURES,
  chat: { ...Object.fromEntries(Object.entries(FAILURES).filter(([failure]) => isOfStatus(failure))), ...OF_CHAT },
} as const;

const apiAccount = (api: keyof typeof OTHER_APIS): JsonObject => ({
  api,
  query: { 'api-version': canary('account-query') },
  catalog: [{ id: 'model-a', context_window: 272_000, input_modalities: ['text', 'image', 'file'] }],
  quirks: { files: 'data', reasoning_replay: 'always', keep: ['metadata', 'user', 'prompt_cache_key', 'include'] },
});

const TURNS = /^\/(?:v1|backend-api\/agent(?:\/v1)?)\/(?:responses|chat\/completions|messages)$/;

function failuresOf({ dispatched, over }: Request): Readonly<Record<string, Scripted>> {
  if (!dispatched) return { 'nothing wrong': () => 'steady' };
  if (over === undefined) return FAILURES;
  return { ...Object.fromEntries(Object.entries(FAILURES).filter(([failure]) => !OVER_HTTP_ALONE.has(failure))), ...OVER_WEBSOCKET };
}

/** Each request of each kind. Each has its own account, Pool and key, because the gateway remembers what an account did. */
const CROSS = Object.entries(ROUTES)
  .flatMap(([route, request]) =>
    Object.entries(failuresOf(request)).map(([failure, script]) => ({
      route,
      request,
      failure,
      script,
      api: 'agent' as 'agent' | keyof typeof OTHER_APIS,
    })),
  )
  .concat(
    Object.entries(ROUTES)
      .filter(([, { path, dispatched, over }]) => dispatched && over === undefined && TURNS.test(path))
      .flatMap(([route, request]) =>
        (['responses', 'chat'] as const).flatMap((api) =>
          Object.entries(OTHER_APIS[api]).map(([failure, script]) => ({ route, request, failure, script, api })),
        ),
      ),
  );

/** The first case of each kind: every sample has each route without a failure, and each failure of each API at one route. */
const firstOf = <T, K>(cases: readonly T[], kindOf: (one: T) => K): readonly T[] =>
  [...Map.groupBy(cases, kindOf).values()].flatMap(([first]) => first ?? []);

const CASES = sampleOf(CROSS, [
  ...firstOf(CROSS, ({ route, api }) => `${route} ${api}`),
  ...firstOf(CROSS, ({ failure, api, request }) => `${failure} ${api} ${request.over}`),
]);
const keyOf = (index: number): string => `pg-${canary('pool-key')}-${index}`;

/** Texts of the account's owner and of the gateway's side: no answer may have them, not even an answer of the provider. */
const NEVER_ANSWERED = ['bearer-of', ...['pool-key', 'owner', 'their', 'cookie', 'header', 'forwarded'].map((name) => `${MARK}-${name}`)];

let folder: string;
let gate: TestGateway;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'poolgate-canary-'));
  gate = await startGateway({
    upstream: {
      accounts: [...CASES.map(({ api }) => api), 'agent' as const].map((api, index) => ({
        id: accountOf(index),
        ...(api === 'agent' ? {} : { api: { api } }),
      })),
      strict: false,
    },
    store: `sqlite:${join(folder, 'poolgate.db')}`,
    config: (draft) => {
      draft.limits = { request_body_bytes: 100_000 };
      draft.log = { level: 'debug' };
      for (const [index, { api }] of CASES.entries()) if (api !== 'agent') Object.assign(draft.accounts[index], apiAccount(api));
      draft.pools = draft.accounts.map(({ id }: { id: string }) => ({
        id,
        image_host_model: 'model-a',
        request_compression_enabled: true,
        assignments: [{ account: id }],
      }));
      draft.keys = draft.accounts.map(({ id }: { id: string }, index: number) => ({
        id,
        pool: id,
        secret_sha256: [hash('sha256', keyOf(index), 'hex')],
      }));
      draft.operators = [
        { id: 'ops', token_sha256: [hash('sha256', OPERATOR, 'hex')], owns: draft.pools.map(({ id }: { id: string }) => id) },
      ];
    },
  });
  gate.upstream.clear();
});
after(async () => {
  await gate.close();
  await rm(folder, { recursive: true });
});

interface Answered {
  readonly status: number;
  readonly text: string;
  readonly headers: string;
}

async function askByFrame({ path, body }: Request, headers: Readonly<Record<string, string>>): Promise<Answered> {
  let socket: TestSocket;
  try {
    socket = await connect(gate, path + QUERY, { key: null, headers });
  } catch (thrown) {
    if (!(thrown instanceof UpgradeRefusal)) throw thrown;
    return { status: thrown.status, text: thrown.text, headers: JSON.stringify(thrown.headers) };
  }
  // A native reply that breaks off closes the connection.
  await socket.turn(body as JsonObject).catch(() => assert.ok(!socket.isOpen, 'the turn ended'));
  socket.terminate();
  const { status } = socket.frames.at(-1) ?? {};
  return {
    status: typeof status === 'number' ? status : 200,
    text: JSON.stringify(socket.frames),
    headers: JSON.stringify(socket.headers),
  };
}

async function ask(request: Request, index: number): Promise<Answered> {
  const { method, path, body, headers, over } = request;
  const own = { authorization: `Bearer ${keyOf(index)}`, ...HEADERS, ...headers };
  if (over === 'websocket') return askByFrame(request, own);
  try {
    const reply = await gate.send(path + QUERY, { body, headers: own, ...(method === undefined ? {} : { method }) });
    return { status: reply.status, text: reply.text, headers: JSON.stringify([...reply.headers]) };
  } catch {
    // A native stream that breaks off has no end, and its content came from the account.
    return { status: 0, text: '', headers: '' };
  }
}

for (const [index, { route, request, failure, script, api }] of CASES.entries()) {
  const what = api === 'agent' ? route : `${route} at a ${api} account`;
  test(`${what}, ${failure}: no error repeats confidential text [S4]${api === 'agent' ? '' : ' [AA82]'}`, async () => {
    const account = accountOf(index);
    gate.upstream.always(account, script(account));
    const { status, text, headers } = await ask(request, index);
    if (request.dispatched && failure !== 'an upgrade that is refused') {
      const [turn] = gate.upstream.turns(account);
      assert.ok(turn?.body.includes(PROMPT), `the turn did not reach the account: ${status} ${text}`);
    }
    for (const secret of NEVER_ANSWERED) assert.ok(!(text + headers).includes(secret), `${secret} in ${text.slice(0, 500)}`);
    const native = request.path.startsWith('/backend-api/agent/') && !isChat(request.path);
    // A native client gets the text of an agent backend unchanged; every other error is made or cleaned by the gateway.
    const error = status >= 400 || (!native && /"type":"error"|response\.failed|^data: \{"error"/m.test(text));
    if (!error || (native && request.dispatched && api === 'agent')) return;
    // A translated stream repeats the instructions to the client that sent them (AA49).
    const repeated = api === 'chat' && status === 200 ? [] : [canary('instructions')];
    for (const words of [PROMPT, canary('arguments'), canary('query'), ...repeated]) assert.ok(!text.includes(words), text);
  });
}

test('requests that are not HTTP leave none of their bytes behind either [S4]', async () => {
  for (const bytes of [
    headOf('GET', `http://${canary('host')}/v1/models`),
    headOf('CONNECT', `${canary('host')}:443`),
    headOf('GET', '/v1/models', { host: canary('host'), Host: 'again' }),
    headOf('POST', '/v1/responses', { 'content-length': 1, 'Content-Length': canary('length') }),
    `${canary('line')}\r\n\r\n`,
    headOf('GET', '/v1/models', { 'x-large': canary('large').repeat(10_000) }),
    `${headOf('POST', '/v1/responses', { 'content-type': 'application/json', 'transfer-encoding': 'chunked' })}${canary('chunk')}\r\n`,
  ]) {
    using client = await RawClient.connect(gate.url);
    client.write(bytes);
    const { status, body, headers } = await client.answer();
    assert.ok(status >= 400);
    assert.ok(!(body + JSON.stringify(headers)).includes(MARK));
  }
});

test('of a client that leaves in the middle only a row remains [S4]', async () => {
  const account = accountOf(CASES.length);
  gate.upstream.next(account, [replyEvents([created, delta, delta]), { kind: 'stall', at: { events: 2 } }]);
  const leaving = new AbortController();
  const headers = { ...HEADERS, authorization: `Bearer ${keyOf(CASES.length)}` };
  const reply = gate.fetch('/v1/responses', { body: { model: 'model-a', ...marked, stream: true }, headers, signal: leaving.signal });
  await gate.upstream.stalled(account);
  leaving.abort();
  await assert.rejects(reply.then((answer) => answer.text()));
  gate.upstream.release();
});

test('a transcript is not stored, and no error repeats an account’s text about a transcription [S4] [D9]', async () => {
  const account = accountOf(CASES.length);
  const headers = { ...HEADERS, authorization: `Bearer ${keyOf(CASES.length)}`, 'content-type': FORM_TYPE };
  const body = formOf([
    { name: 'model', value: 'gpt-transcribe' },
    { name: 'prompt', value: PROMPT },
    { name: 'file', filename: canary('voice'), value: canary('sound') },
  ]);
  const ask = (path: string): ReturnType<TestGateway['send']> => gate.send(path, { body, headers });
  for (const path of ['/v1/audio/transcriptions', '/backend-api/transcribe']) {
    gate.upstream.nextOn(account, '/backend-api/transcribe', replyJson({ text: canary('transcript'), language: canary('language') }));
    assert.ok((await ask(path)).text.includes(canary('transcript')));
    gate.upstream.nextOn(account, '/backend-api/transcribe', replyJson({ error: echo(account) }, { status: 400, headers: theirs }));
    const { text, headers: answered } = await ask(path);
    for (const secret of NEVER_ANSWERED) assert.ok(!(text + JSON.stringify([...answered])).includes(secret), secret);
  }
});

test('the address of an upload is not stored, and no error repeats it [S4] [C1]', async () => {
  const account = accountOf(CASES.length);
  const headers = { ...HEADERS, authorization: `Bearer ${keyOf(CASES.length)}`, 'content-type': FORM_TYPE };
  const body = formOf([
    { name: 'file', filename: 'a', value: 'b' },
    { name: 'purpose', value: 'user_data' },
  ]);
  for (const host of ['http://127.0.0.1:9', `https://${canary('user')}:${canary('password')}@127.0.0.1`, `http://${MARK}.example`]) {
    const address = `${host}/${canary('upload-path')}?signature=${canary('signature')}`;
    gate.upstream.nextOn(account, '/backend-api/files', replyJson({ file_id: 'file_canary', upload_url: address, note: canary('note') }));
    const { status, text } = await gate.send('/v1/files', { body, headers });
    assert.equal(status, 502);
    assert.ok(!text.includes(MARK));
  }
});

/** All encodings in which a text could have been kept. */
const formsOf = (text: string): readonly string[] => [
  text,
  Buffer.from(text).toString('base64').slice(0, -4),
  Buffer.from(text).toString('hex'),
];
const FORBIDDEN = [MARK, 'bearer-of', 'pgc1.', ...formsOf(canary('prompt')), ...formsOf(canary('image')), ...formsOf(canary('cookie'))];

test('afterwards no confidential text is in a log line, in an answer of the admin listener or of /mcp, or in any file of the store [S4]', async () => {
  const rows = await gate.rows();
  assert.ok(rows.length > 50, 'the requests did leave rows');
  const lines = gate.logged.join('');
  assert.ok(lines.includes('"event":"request"'), 'and log lines');
  const seen: Record<string, string | Buffer> = { 'the log': lines };
  for (const path of [
    '/healthz',
    '/readyz',
    '/api/status',
    '/metrics',
    '/api/requests?limit=999',
    `/api/requests?model=${MARK}`,
    `/${MARK}`,
  ]) {
    seen[`the admin listener's ${path}`] = await (await fetch(gate.adminUrl + path)).text();
  }
  for (const name of TOOL_NAMES) {
    const body = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: name === 'list_requests' ? { limit: 200 } : {} },
    };
    const { status, text } = await gate.send('/mcp', { body, headers: { authorization: `Bearer ${OPERATOR}` } });
    assert.equal(status, 200, text);
    seen[`the tool ${name} of /mcp`] = text;
  }
  for (const name of await readdir(folder)) seen[`the file ${name}`] = await readFile(join(folder, name));
  assert.ok(Object.keys(seen).some((name) => name.endsWith('.db')));
  for (const [where, text] of Object.entries(seen)) {
    for (const forbidden of FORBIDDEN) assert.ok(!text.includes(forbidden), `${forbidden} is in ${where}`);
  }
});
