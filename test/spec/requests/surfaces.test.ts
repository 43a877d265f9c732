// A whole surface in one file: its path, the header of its key, its requests, errors, answers and streams. Policy, limits, failover and
// rows come from the gateway.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { after, before, beforeEach, test } from 'node:test';
import { KeepaliveSseSink } from '../../../proxy/clients/http/replies/keepalive-sse-sink.ts';
import { publicSurface } from '../../../proxy/surfaces/public/public-surface.ts';
import { invalidRequest } from '../../../proxy/turn/errors/invalid-request.ts';
import { type ErrorBody, Refusal } from '../../../proxy/turn/errors/refusal.ts';
import { asList, isObject, type Json, type JsonObject } from '../../../proxy/turn/json/json.ts';
import { DeltaText } from '../../../proxy/turn/reply/delta-text.ts';
import { LIFECYCLE } from '../../../proxy/turn/reply/event-types.ts';
import type { ReplyEvent } from '../../../proxy/turn/reply/reply-event.ts';
import { type StreamedTurn, surface } from '../../../proxy/turn/surface.ts';
import type { Event, Outcome } from '../../../proxy/turn/turn.ts';
import { type Draft, KEY, type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { eventsOf } from '../../support/network/sse-events.ts';

const NOTES = '/v1/notes';

interface Asked {
  readonly title: string;
}

const problemOf = ({ code, param, message }: ErrorBody): JsonObject => ({ problem: { code, at: param, text: message } });

class Problem extends Refusal {
  override readonly status: number;
  override readonly error: ErrorBody;
  override readonly headers: Readonly<Record<string, string>>;

  constructor(of: Refusal) {
    super('server_error');
    this.status = of.status;
    this.error = of.error;
    this.headers = of.headers;
  }

  override get json(): string {
    return JSON.stringify(problemOf(this.error));
  }
}

class NotesSink extends KeepaliveSseSink {
  override readonly wants = new Set(['response.completed']);
  override readonly drops = LIFECYCLE;
  readonly #title: string;
  readonly #delta = new DeltaText();

  constructor(response: ServerResponse, turn: StreamedTurn, { title }: Asked) {
    super(response, turn);
    this.#title = title;
  }

  override raw(event: ReplyEvent): void {
    const text = event.type === 'response.output_text.delta' ? this.#delta.of(event) : undefined;
    if (text) this.write(`data: {"add":"${text}"}\n\n`);
  }

  override event({ type, data }: Event): void {
    if (type === 'response.completed') this.write(`data: ${JSON.stringify({ done: this.#title })}\n\n`);
    else if (type === 'error') this.write(`data: ${JSON.stringify(problemOf(data.error as unknown as ErrorBody))}\n\n`);
  }

  override close(closing: readonly (Event | Refusal)[], outcome: Outcome): void {
    for (const last of closing) if (last instanceof Refusal) this.write(`data: ${JSON.stringify(problemOf(last.error))}\n\n`);
    super.close([], outcome);
  }
}

const notesSurface = surface<Asked>({
  ...publicSurface,
  name: 'notes',
  claim: { path: NOTES },
  credentials: ({ 'x-notes-key': key }) => (key === undefined ? [] : [key]),
  numbersEvents: false,

  decode(work) {
    const { model, lines, title, longest, stream } = work.body;
    if (typeof title !== 'string') throw invalidRequest('title', 'must be a string');
    const content = asList(lines).map((text): Json => ({ type: 'input_text', text }));
    work.body = {
      model,
      input: [{ type: 'message', role: 'user', content }],
      ...(longest === undefined ? {} : { max_output_tokens: longest }),
      stream: stream === true,
    };
    const nameOf = (param: string): string =>
      param === 'max_output_tokens' ? 'longest' : param.replace(/^input\.0\.content\.(\d+).*/, 'lines.$1');
    return { names: { nameOf }, memory: { title } };
  },

  stream: (response, turn, asked) => new NotesSink(response, turn, asked),

  answer({ output }, _turn, { title }) {
    const texts = asList(output).flatMap((item) => (isObject(item) ? asList(item.content) : []));
    return { title, text: texts.map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : '')).join('') };
  },

  refusal: (refusal) => new Problem(refusal),
});

let gate: TestGateway;
before(async () => {
  gate = await startGateway({
    surfaces: [notesSurface],
    config(draft: Draft) {
      draft.routes = [
        { POST: NOTES, status: 'translated', serve: 'chat', to: '/backend-api/agent/responses', class: 'stream' },
        { POST: '/v1/responses', status: 'translated', serve: 'public-responses', to: '/backend-api/agent/responses', class: 'stream' },
      ];
      const key = (id: string, members: JsonObject): JsonObject => ({
        id,
        pool: 'team',
        secret_sha256: [hash('sha256', id, 'hex')],
        ...members,
      });
      draft.keys.push(key('short', { output_tokens: { max: 50 } }), key('other', { models: ['model-z'] }));
      draft.keys.push(key('slow', { limits: { requests_per_minute: 1 } }));
    },
  });
});
after(() => gate.close());
beforeEach(() => {
  gate.heal();
  gate.upstream.clear();
});

const ask = (members: JsonObject = {}, key: string = KEY): Promise<Reply> =>
  gate.send(NOTES, {
    body: { model: 'model-a', title: 'T', lines: ['say: hello there'], ...members },
    headers: { authorization: '', 'x-notes-key': key },
  });

test('a surface serves its own requests, answers and streams', async () => {
  const { status, json, text } = await ask();
  assert.deepEqual([status, json], [200, { title: 'T', text: 'hello there' }], text);
  const [sent] = gate.upstream.turns();
  assert.deepEqual((sent?.json as JsonObject | undefined)?.input, [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'say: hello there' }] },
  ]);
  assert.equal(sent?.headers['x-notes-key'], undefined);
  const events = eventsOf((await ask({ stream: true })).text).map(({ data }) => data);
  assert.equal(events.map(({ add = '' }) => add).join(''), 'hello there');
  assert.deepEqual(events.at(-1), { done: 'T' });
});

test('a surface has its own credentials, and no other surface has them', async () => {
  const bearer = await gate.send(NOTES, { body: { model: 'model-a', title: 'T', lines: [] } });
  assert.deepEqual([bearer.status, bearer.json.problem.code], [401, 'invalid_api_key']);
  const other = await gate.send('/v1/responses', {
    body: { model: 'model-a', input: 'hi' },
    headers: { authorization: '', 'x-notes-key': KEY },
  });
  assert.deepEqual([other.status, other.json.error.code], [401, 'invalid_api_key']);
});

test('refusals of the surface, of rules and of accounts name the members of its clients', async () => {
  const problem = async (members: JsonObject, key?: string): Promise<readonly Json[]> => {
    const { status, json } = await ask(members, key);
    return [status, json.problem.code, json.problem.at];
  };
  assert.deepEqual(await problem({ title: 7 }), [400, 'invalid_request', 'title']);
  assert.deepEqual(await problem({ longest: 51 }, 'short'), [400, 'output_tokens_not_allowed', 'longest']);
  assert.deepEqual(await problem({}, 'other'), [403, 'model_not_allowed', 'model']);
  assert.equal(gate.upstream.turns().length, 0);
  const param = 'input[0].content[1].text'.replace(/\[(\d+)\]/g, '.$1');
  gate.upstream.always('north', {
    kind: 'reply',
    status: 400,
    body: { json: { error: { message: `Invalid '${param}'.`, type: 'invalid_request_error', code: 'invalid_value', param } } },
  });
  const { status, json } = await ask({ lines: ['a', 'b'] });
  assert.deepEqual([status, json.problem], [400, { code: 'invalid_value', at: 'lines.1', text: "Invalid 'lines.1'." }]);
});

test('limits, failover and rows are those of every turn', async () => {
  assert.equal((await ask({}, 'slow')).status, 200);
  const limited = await ask({}, 'slow');
  assert.deepEqual([limited.status, limited.json.problem.code], [429, 'rate_limit_exceeded']);
  assert.ok(Number(limited.headers.get('retry-after')) >= 1);
  gate.upstream.next('north', 'refuse inside server_error');
  const moved = await ask({ stream: true });
  assert.equal(eventsOf(moved.text).at(-1)?.data.done, 'T');
  const row = await gate.row(moved.headers.get('x-request-id') ?? '');
  assert.deepEqual([row?.endpoint, row?.status, row?.account, row?.retries], [NOTES, 200, 'SOUTH', 1]);
  assert.ok((row?.output_tokens ?? 0) > 0);
});

test('a stream that breaks off ends with the surface’s own error', async () => {
  for (const account of ['north', 'south']) gate.upstream.always(account, 'reset after 6 events');
  const events = eventsOf((await ask({ stream: true })).text).map(({ data }) => data);
  assert.equal(events.at(-1).problem.code, 'server_error');
});
