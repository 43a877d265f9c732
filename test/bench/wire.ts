// The bytes of the measurements: the requests of the load generator and the answers of the upstream, in the form of recorded traffic.
import { modelsWithin } from '../../proxy/rehearsal/model/sample-models.ts';

export const MODEL = 'model-a';

/** The number of deltas of a stream, and how many it sends a second; 0 means as fast as they are read. */
export interface Plan {
  readonly deltas: number;
  readonly perSecond: number;
}

export interface Post {
  readonly path: string;
  readonly key: string;
  readonly model?: string;
  readonly stream?: Plan;
  /** The session of the native client; turns of one session stay at one account. */
  readonly session?: string;
}

export interface Wire {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The plan of an answer that is collected. */
export const SHORT: Plan = { deltas: 4, perSecond: 0 };

const SESSION = '01a1f7fe-e012-72e1-a014-680b536b0694';

const NATIVE = {
  originator: 'agent_exec',
  'user-agent': 'agent_exec/0.169.0 (Debian 12.0.0; x86_64) unknown',
  'session-id': SESSION,
  'thread-id': SESSION,
  'x-client-request-id': SESSION,
};
const SDK = { 'user-agent': 'OpenAI/JS 7.55.0', 'x-stainless-lang': 'js', 'x-stainless-retry-count': '0', 'x-stainless-runtime': 'node' };

export const WORDS = 'The gateway carries every turn to an account that can serve it, and the reply comes back as it was sent. ';

/** A request of about 0.8 KB. The upstream finds its plan by `bench:`. */
export function requestOf({ path, key, model = MODEL, stream, session = SESSION }: Post): Wire {
  const { deltas, perSecond } = stream ?? SHORT;
  const message = (role: string, text: string): object => ({ type: 'message', role, content: [{ type: 'input_text', text }] });
  const plan = `bench:${deltas}:${perSecond}:${session}`;
  const messages = path.endsWith('/messages');
  const chat = messages || path.endsWith('/chat/completions');
  const words = WORDS.repeat(3);
  const content = chat
    ? { messages: [{ role: 'user', content: words }] }
    : {
        input: [message('user', words)],
        tools: [{ type: 'function', name: 'shell', parameters: { type: 'object', properties: { command: { type: 'string' } } } }],
        tool_choice: 'auto',
        parallel_tool_calls: true,
        reasoning: { effort: 'medium', summary: 'auto' },
        store: false,
        include: ['reasoning.encrypted_content'],
      };
  const body = JSON.stringify({
    model,
    ...content,
    ...(stream ? { stream: true } : {}),
    // A Messages client names no cache, and a Chat account gets a digest of its name, so the plan is in the instructions for these.
    ...(messages ? { max_tokens: 32_000, system: plan } : { prompt_cache_key: plan }),
    ...(chat ? {} : { instructions: plan }),
  });
  const own = path.startsWith('/v1/') ? SDK : { ...NATIVE, 'x-agent-window-id': `${session}:0` };
  const accept = stream ? 'text/event-stream' : 'application/json';
  return { path, headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', accept, ...own }, body };
}

/** The request as it is sent. */
export function rawRequest({ path, headers, body }: Wire): string {
  const lines = Object.entries({ host: '127.0.0.1', ...headers, 'content-length': String(Buffer.byteLength(body)) });
  return `POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
}

const RESPONSE = {
  id: 'resp_0a1b2c3d4e5f60718293a4b5c6d7e8f9',
  object: 'response',
  created_at: 1_790_000_000,
  status: 'in_progress',
  error: null,
  incomplete_details: null,
  model: MODEL,
  output: [] as object[],
  parallel_tool_calls: true,
  store: false,
  temperature: 1,
  tool_choice: 'auto',
  truncation: 'disabled',
  metadata: {},
};
const ITEM = 'msg_0a1b2c3d4e5f60718293a4b5c6d7e8f9a0b1c2d3e4f5a6b7';
const PART = { type: 'output_text', text: WORDS, annotations: [], logprobs: [] };
const MESSAGE = { id: ITEM, type: 'message', status: 'completed', role: 'assistant', content: [PART] };
const USAGE = {
  input_tokens: 90,
  input_tokens_details: { cached_tokens: 64 },
  output_tokens: 24,
  output_tokens_details: { reasoning_tokens: 8 },
  total_tokens: 114,
};
/** A response that has ended. */
export const COMPLETED = { ...RESPONSE, status: 'completed', output: [MESSAGE], usage: USAGE };
const PLACE = { item_id: ITEM, output_index: 0, content_index: 0 };

const event = (type: string, data: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;

/** Providers write each event as an HTTP chunk of its own. */
export const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

export const head = (...lines: readonly string[]): string => `HTTP/1.1 200 OK\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;

export const whole = (body: object): string => {
  const text = JSON.stringify(body);
  return head('content-type: application/json', `content-length: ${Buffer.byteLength(text)}`) + text;
};

const quota = ['x-agent-primary-used-percent: 12.5', 'x-agent-primary-window-minutes: 300', 'x-agent-primary-reset-at: 1795165637'];

/** The HTTP answers under the names that the upstream knows: to GET, to POST, and the parts of a stream. */
export interface Answers {
  readonly models: string;
  readonly answer: string;
  readonly head: string;
  /** The upstream fills in the digits `#` and `?`: the number of the event and its time of sending. */
  readonly delta: string;
  readonly tail: string;
}

export const RESPONSES_ANSWERS: Answers = {
  models: whole({ models: modelsWithin() }),
  answer: whole(COMPLETED),
  head:
    head('content-type: text/event-stream; charset=utf-8', 'transfer-encoding: chunked', ...quota) +
    [
      event('response.created', { sequence_number: 0, response: RESPONSE }),
      event('response.in_progress', { sequence_number: 1, response: RESPONSE }),
      event('response.output_item.added', {
        sequence_number: 2,
        output_index: 0,
        item: { ...MESSAGE, status: 'in_progress', content: [] },
      }),
      event('response.content_part.added', { sequence_number: 3, ...PLACE, part: { ...PART, text: '' } }),
    ]
      .map(chunk)
      .join(''),
  delta: chunk(
    event('response.output_text.delta', { ...PLACE, delta: ' @????????????????', logprobs: [] }).replace(
      '"item_id"',
      '"sequence_number":#######,"item_id"',
    ),
  ),
  tail: `${[
    event('response.output_text.done', { sequence_number: 9_000_001, ...PLACE, text: WORDS, logprobs: [] }),
    event('response.content_part.done', { sequence_number: 9_000_002, ...PLACE, part: PART }),
    event('response.output_item.done', { sequence_number: 9_000_003, output_index: 0, item: MESSAGE }),
    event('response.completed', { sequence_number: 9_000_004, response: COMPLETED }),
  ]
    .map(chunk)
    .join('')}0\r\n\r\n`,
};

export const DELTA_BYTES = Buffer.byteLength(RESPONSES_ANSWERS.delta);
