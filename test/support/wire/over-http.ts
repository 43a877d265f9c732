// Runs a case table over real sockets: what reached the account and what came back, on every endpoint of the case's kind.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Json, JsonObject } from '../../../proxy/turn/json.ts';
import type { RouteKind } from '../../../proxy/turn/kinds.ts';
import { bearerOf, eventsOf, type Reply } from '../gateway.ts';
import type { WireCase } from './case.ts';
import { withChatDefaults } from './chat-shape.ts';
import { expectedDispatch, isPublic } from './expected-dispatch.ts';
import { TableGateway } from './table-gateway.ts';

/** How a client carries a turn; a websocket client would be one more. */
export type Over = 'json' | 'sse';

interface Endpoint {
  readonly over: Over;
  readonly path: string;
}

const NATIVE = '/backend-api/agent/responses';
const ALIAS = '/backend-api/agent/v1/responses';
const PUBLIC = '/v1/responses';
const CHAT = '/v1/chat/completions';
const CHAT_ALIAS = '/backend-api/agent/v1/chat/completions';
const MARKER = 'x-internal-agent-responses-lite';

/** Of each kind that is served over HTTP; the tests of other routes cover the rows of other kinds. */
const ENDPOINTS: Partial<Record<RouteKind, readonly Endpoint[]>> = {
  responses: [
    { over: 'json', path: NATIVE },
    { over: 'sse', path: NATIVE },
    { over: 'sse', path: ALIAS },
  ],
  'public-responses': [
    { over: 'json', path: PUBLIC },
    { over: 'sse', path: PUBLIC },
  ],
  chat: [
    { over: 'json', path: CHAT },
    { over: 'sse', path: CHAT },
    { over: 'sse', path: CHAT_ALIAS },
  ],
};

/** Rows of Chat that pass one rule alone say nothing of the whole translation. */
const isWhole = ({ kind, body, refusal, equivalent, changes }: WireCase): boolean =>
  kind !== 'chat' || refusal !== undefined || equivalent !== undefined || (body.messages !== undefined && 'input' in changes);

export interface TableOptions {
  readonly over?: readonly Over[];
  /** `as-written`: the body's own model, also where it has none. Else each case names the model that was made for it. */
  readonly model?: 'as-written';
  /** `differs`: what went out is not valid or not stable when it comes in again. */
  readonly again?: 'differs';
}

/** One suite for each audio limit of the table. */
export function testOverHttp(title: string, table: readonly WireCase[], options: TableOptions = {}): void {
  const served = table.filter((one) => ENDPOINTS[one.kind] !== undefined && isWhole(one));
  for (const audioBytes of new Set(served.map((one) => one.audioBytes))) {
    const cases = served.filter((one) => one.audioBytes === audioBytes);
    describe(audioBytes === undefined ? title : `${title}, of ${audioBytes} bytes at most`, () => testOn(cases, audioBytes, options));
  }
}

function testOn(cases: readonly WireCase[], audioBytes: number | undefined, options: TableOptions): void {
  const gateway = new TableGateway(cases);
  const refused: { readonly id: string; readonly code: string }[] = [];
  before(() => gateway.start(audioBytes));
  after(() => gateway.stop());

  for (const one of cases) {
    test(one.title, async () => {
      const model = options.model === 'as-written' ? {} : { model: gateway.modelOf(one) };
      const body = { ...one.body, ...model };
      const endpoints = (ENDPOINTS[one.kind] ?? []).filter(({ over }) => options.over?.includes(over) ?? true);
      for (const endpoint of endpoints) {
        const sent = bodyFor(endpoint, body);
        const reply = await send(gateway, one, endpoint, sent);
        const refusal = refusalOf(one);
        if (refusal) refused.push({ id: assertRefused(gateway, reply, refusal), code: refusal.code });
        else {
          const arrived = arrival(gateway, one, endpoint, reply);
          assert.deepEqual(
            arrived,
            one.equivalent ? withChatDefaults(expectedDispatch(one, { ...one.equivalent, ...model })) : expectedDispatch(one, sent),
          );
          if (one.kind !== 'chat' && endpoint === endpoints.at(-1) && options.again !== 'differs')
            await assertSettled(gateway, one, endpoint, arrived);
        }
      }
    });
  }

  test('[ER2] each refusal left its row, and nothing was attempted, spent or dispatched', async () => {
    const { gate } = gateway;
    for (const { id, code } of refused) {
      const row = await gate.row(id);
      const spent = row && [row.input_tokens, row.output_tokens, row.account, row.retries, row.outcome];
      assert.deepEqual([row?.code, spent], [code, [null, null, null, 0, 'refused']]);
      assert.ok(row);
      assert.deepEqual(await gate.attempts(row.id), []);
    }
  });
}

/** The case's body for this endpoint. */
function bodyFor(endpoint: Endpoint, body: JsonObject): JsonObject {
  if (endpoint.over === 'sse') return { ...body, stream: true };
  return body.stream === true ? { ...body, stream: false } : body;
}

function send(gateway: TableGateway, one: WireCase, { path }: Endpoint, body: JsonObject): Promise<Reply> {
  gateway.gate.upstream.clear();
  return gateway.gate.send(path, { body, headers: { authorization: gateway.authorization(one) } });
}

/** Member names that no rule ever sees: the body is refused as it is parsed. */
const FORBIDDEN = /"__proto__"\s*:/;

function refusalOf({ refusal, body }: WireCase): WireCase['refusal'] {
  return FORBIDDEN.test(JSON.stringify(body)) ? { code: 'invalid_request', status: 400, param: null } : refusal;
}

function assertRefused({ gate }: TableGateway, reply: Reply, { code, status, param }: NonNullable<WireCase['refusal']>): string {
  const { error, ...beside } = reply.json ?? {};
  assert.deepEqual([reply.status, error?.code, error?.param, beside], [status, code, param, {}], reply.text);
  assert.deepEqual(Object.keys(error).sort(), ['code', 'message', 'param', 'type']);
  assert.match(reply.headers.get('content-type') ?? '', /^application\/json/);
  if (status === 503) assert.ok(Number(reply.headers.get('retry-after')) >= 1);
  assert.equal(gate.upstream.turns().length, 0, 'nothing reached an account');
  return reply.headers.get('x-request-id') ?? assert.fail('a refusal without x-request-id');
}

/** F2.10: what went out goes out the same when it is sent again. */
async function assertSettled(gateway: TableGateway, one: WireCase, endpoint: Endpoint, arrived: JsonObject): Promise<void> {
  const again = bodyFor(endpoint, arrived);
  const reply = await send(gateway, one, endpoint, again);
  const { stream } = isPublic(one.kind) ? arrived : again;
  assert.deepEqual(arrival(gateway, one, endpoint, reply), plain({ ...arrived, stream }), 'what went out goes out the same again');
}

/** What the one account got, its headers checked; and that the client got a whole answer. */
function arrival({ gate }: TableGateway, one: WireCase, endpoint: Endpoint, reply: Reply): JsonObject {
  assert.equal(reply.status, 200, reply.text);
  if (endpoint.over === 'sse') assertStream(reply, one);
  else assert.equal(reply.json?.object, one.kind === 'chat' ? 'chat.completion' : 'response', reply.text);
  assert.ok(![...reply.headers.keys()].some((name) => name.includes('lite')), 'no marker in the answer');
  const [turn, ...others] = gate.upstream.turns();
  assert.equal(others.length, 0);
  assert.equal(turn?.path, NATIVE);
  assert.equal(turn.headers.authorization, `Bearer ${bearerOf('north')}`);
  assert.equal(turn.headers[MARKER], one.model.mode?.effective === 'lite' ? 'true' : undefined);
  return turn.json as JsonObject;
}

function assertStream(reply: Reply, { kind }: WireCase): void {
  assert.match(reply.headers.get('content-type') ?? '', /^text\/event-stream/);
  const events = eventsOf(reply.text);
  if (kind === 'chat') {
    assert.equal(events.at(-1)?.data, '[DONE]');
    const last = events.findLast(({ data }) => data.choices?.length > 0);
    assert.equal(typeof last?.data.choices[0].finish_reason, 'string');
    return;
  }
  const terminal = events.at(isPublic(kind) ? -2 : -1)?.event ?? '';
  assert.ok(['response.completed', 'response.incomplete'].includes(terminal), terminal);
  if (isPublic(kind)) assert.equal(events.at(-1)?.data, '[DONE]');
}

const plain = (value: JsonObject): Json => JSON.parse(JSON.stringify(value)) as Json;
