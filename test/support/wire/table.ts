// Runs a case table over real sockets, and compares the body at the account and the answer. `npm test` runs each case on one endpoint of
// its kind, in turn, and a sample of cases on the others, because the rules' own tests have each case too.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { asList, type Json, type JsonObject } from '../../../proxy/turn/json/json.ts';
import { bearerOf } from '../gateway.ts';
import { sampleOf } from '../sample.ts';
import type { WireCase } from './case.ts';
import { withChatDefaults } from './chat-shape.ts';
import { type Answer, ENDPOINTS, type Endpoint, Exchange } from './exchange.ts';
import { expectedDispatch, isCompact, isPublic } from './expected-dispatch.ts';
import { TableGateway } from './table-gateway.ts';

const DESTINATION = '/backend-api/agent/responses';
const MARKER = 'x-internal-agent-responses-lite';
const ENTRY = 'ws_request_header_x_internal_agent_responses_lite';

/** The most rows that `gate.rows()` returns. A large table of cases makes more. */
const MAX_ROWS = 1_000;

export interface TableOptions {
  /** `as-written`: the body's own model, even if it has none. Else each case names the model that was made for it. */
  readonly model?: 'as-written';
  /** `differs`: the sent body is not valid, or changes when it is sent again. */
  readonly again?: 'differs';
}

/** The row of a refusal. It is found by its id, or on a websocket by its place among the rows of refused frames. */
interface RefusedRow {
  readonly id: string | undefined;
  readonly code: string;
}

/** Runs the table over HTTP, SSE and websocket. Each audio limit in the table has its own suite. */
export function testTable(title: string, table: readonly WireCase[], options: TableOptions = {}): void {
  const served = table.filter((one) => ENDPOINTS[one.kind] !== undefined && isWhole(one));
  for (const audioBytes of new Set(served.map((one) => one.audioBytes))) {
    const cases = served.filter((one) => one.audioBytes === audioBytes);
    describe(audioBytes === undefined ? title : `${title}, of ${audioBytes} bytes at most`, () => testOn(cases, audioBytes, options));
  }
}

/** Whether the case covers the whole translation. Rows of Chat that pass only one rule do not. */
const isWhole = ({ kind, body, refusal, equivalent, changes }: WireCase): boolean =>
  kind !== 'chat' || refusal !== undefined || equivalent !== undefined || (body.messages !== undefined && 'input' in changes);

function testOn(cases: readonly WireCase[], audioBytes: number | undefined, options: TableOptions): void {
  const gateway = new TableGateway(cases);
  const refused: RefusedRow[] = [];
  let exchange: Exchange;
  before(async () => {
    await gateway.start(audioBytes);
    exchange = new Exchange(gateway.gate);
  });
  after(async () => {
    await exchange.close();
    await gateway.stop();
  });

  const endpointsOf = endpointsByCase(cases);
  for (const one of cases) {
    test(one.title, async () => {
      const model = options.model === 'as-written' ? {} : { model: gateway.modelOf(one) };
      const messages = new Set<Json | undefined>();
      const endpoints = endpointsOf.get(one) ?? [];
      for (const endpoint of endpoints) {
        const sent = await asked(gateway, exchange, one, endpoint, { ...one.body, ...model });
        const refusal = refusalOf(one);
        if (refusal) {
          const answer = await ask(gateway, exchange, one, endpoint, sent);
          assertRefused(gateway, endpoint, answer, refusal);
          refused.push({ id: answer.id, code: refusal.code });
          messages.add(answer.error?.message);
          continue;
        }
        const arrived = await arrival(gateway, exchange, one, endpoint, sent);
        const { equivalent } = one;
        const expected = expectedDispatch(one, equivalent ? { ...equivalent, ...model } : sent, endpoint.over);
        assert.deepEqual(arrived, equivalent ? withChatDefaults(expected) : expected);
        if (one.kind !== 'chat' && endpoint === endpoints.at(-1) && options.again !== 'differs')
          await assertSettled(gateway, exchange, one, endpoint, arrived);
      }
      assert.ok(messages.size <= 1, `one message over every connection: ${[...messages].join(' / ')}`);
    });
  }

  test('[ER2] each refusal left its row, and nothing was attempted, spent or dispatched', async () => {
    const { gate } = gateway;
    const rows = await gate.rows();
    const frames = rows.filter(({ method, outcome }) => method === 'WS' && outcome === 'refused');
    const isWhole = rows.length < MAX_ROWS;
    if (isWhole) assert.equal(frames.length, refused.filter(({ id }) => id === undefined).length);
    for (const { id, code } of refused.toReversed()) {
      const row = id === undefined ? frames.pop() : await gate.row(id);
      if (!isWhole && id === undefined && row === undefined) continue;
      const spent = row && [row.input_tokens, row.output_tokens, row.account, row.retries, row.outcome];
      assert.deepEqual([row?.code, spent], [code, [null, null, null, 0, 'refused']]);
      assert.ok(row);
      assert.deepEqual(await gate.attempts(row.id), []);
    }
  });
}

function endpointsByCase(cases: readonly WireCase[]): ReadonlyMap<WireCase, readonly Endpoint[]> {
  const crosses = cases.flatMap((one, i) =>
    endpointsFor(one).map((endpoint, j, { length }) => ({ one, endpoint, isInTurn: j === i % length })),
  );
  const sample = sampleOf(
    crosses,
    crosses.filter(({ isInTurn }) => isInTurn),
  );
  return new Map(cases.map((one) => [one, sample.flatMap((cross) => (cross.one === one ? [cross.endpoint] : []))]));
}

/** The endpoints for a case. Some cases require one way of connecting. */
function endpointsFor({ kind, client }: WireCase): readonly Endpoint[] {
  return (ENDPOINTS[kind] ?? []).filter(({ over }) => client === undefined || (over === 'websocket') === (client === 'websocket'));
}

/** The body of a case for this endpoint. An anchor is a response on the same websocket. */
async function asked(gateway: TableGateway, exchange: Exchange, one: WireCase, endpoint: Endpoint, body: JsonObject): Promise<JsonObject> {
  if (endpoint.over === 'json') return body.stream === true ? { ...body, stream: false } : body;
  if (endpoint.over === 'sse') return { ...body, stream: true };
  const frame = { type: 'response.create', ...body };
  if (typeof body.previous_response_id !== 'string') return frame;
  const { events } = await exchange.ask(endpoint, { model: body.model ?? null, input: [] }, gateway.authorization(one));
  const { response } = events.at(-1) as { readonly response: { readonly id: string } };
  return { ...frame, previous_response_id: response.id };
}

function ask(gateway: TableGateway, exchange: Exchange, one: WireCase, endpoint: Endpoint, body: JsonObject): Promise<Answer> {
  gateway.gate.upstream.clear();
  const sent = one.kind === 'public-compact' ? { ...body, input: [...asList(body.input), { type: 'compaction_trigger' }] } : body;
  return exchange.ask(endpoint, sent, gateway.authorization(one));
}

/** Matches member names that rules never see, because the body is refused when it is parsed. */
const FORBIDDEN = /"__proto__"\s*:/;

function refusalOf({ refusal, body }: WireCase): WireCase['refusal'] {
  return FORBIDDEN.test(JSON.stringify(body)) ? { code: 'invalid_request', status: 400, param: null } : refusal;
}

function assertRefused({ gate }: TableGateway, { over }: Endpoint, answer: Answer, refusal: NonNullable<WireCase['refusal']>): void {
  const { status, error, besideError, headers, text } = answer;
  assert.deepEqual([status, error?.code, error?.param, besideError], [refusal.status, refusal.code, refusal.param, {}], text);
  assert.deepEqual(Object.keys(error ?? {}).sort(), ['code', 'message', 'param', 'type']);
  assert.equal(gate.upstream.turns().length, 0, 'nothing reached an account');
  if (over === 'websocket') return;
  assert.match(headers.get('content-type') ?? '', /^application\/json/);
  if (status === 503) assert.ok(Number(headers.get('retry-after')) >= 1);
}

/** Checks that the sent body does not change when it is sent again (F2.10). */
async function assertSettled(
  gateway: TableGateway,
  exchange: Exchange,
  one: WireCase,
  endpoint: Endpoint,
  arrived: JsonObject,
): Promise<void> {
  const again = await asked(gateway, exchange, one, endpoint, arrived);
  const { stream } = isPublic(one.kind) ? arrived : again;
  const { previous_response_id: anchor } = again;
  const expected = plain({ ...arrived, stream, ...(anchor === undefined ? {} : { previous_response_id: anchor }) });
  assert.deepEqual(await arrival(gateway, exchange, one, endpoint, again), expected, 'what went out goes out the same again');
}

/** Checks the body at the account with its marker, and that the client got a complete answer. */
async function arrival(
  gateway: TableGateway,
  exchange: Exchange,
  one: WireCase,
  endpoint: Endpoint,
  body: JsonObject,
): Promise<JsonObject> {
  const answer = await ask(gateway, exchange, one, endpoint, body);
  assert.equal(answer.status, 200, answer.text);
  assertWhole(answer, endpoint, one);
  const [turn, ...others] = gateway.gate.upstream.turns();
  assert.equal(others.length, 0);
  const compact = isCompact(one.kind);
  const asFrame = endpoint.over === 'websocket' && !compact;
  assert.deepEqual([turn?.method, turn?.path], [asFrame ? 'WS' : 'POST', compact ? `${DESTINATION}/compact` : DESTINATION]);
  assert.equal(turn?.headers.authorization, `Bearer ${bearerOf('north')}`);
  const hasHeader = one.model.mode?.effective === 'lite' && !asFrame;
  assert.equal(turn.headers[MARKER], hasHeader ? 'true' : undefined);
  return turn.json as JsonObject;
}

function assertWhole(answer: Answer, endpoint: Endpoint, { kind }: WireCase): void {
  const { headers, events, text } = answer;
  const { over } = endpoint;
  assert.ok(![...headers.keys()].some((name) => name.includes('lite')), 'no marker in the answer');
  assert.ok(!text.includes(MARKER) && !text.includes(ENTRY), 'nor in its events');
  if (kind === 'chat') {
    assertCompletion(answer, endpoint);
    return;
  }
  if (over === 'json') {
    assert.equal(events[0]?.object, kind === 'compact' ? 'response.compaction' : 'response', text);
    return;
  }
  const hasMark = over === 'sse' && isPublic(kind);
  if (hasMark) assert.equal(events.at(-1), '[DONE]');
  const terminal = events.at(hasMark ? -2 : -1)?.type;
  assert.ok(terminal === 'response.completed' || terminal === 'response.incomplete', text);
  if (over === 'sse') assert.match(headers.get('content-type') ?? '', /^text\/event-stream/);
  else if (!isPublic(kind)) assert.equal(events.filter(({ type }) => type === 'agent.response.metadata').length, 1, 'EV1');
}

function assertCompletion({ headers, events, text }: Answer, { over }: Endpoint): void {
  if (over === 'json') {
    assert.equal(events[0]?.object, 'chat.completion', text);
    return;
  }
  assert.equal(events.at(-1), '[DONE]');
  const [choice] = events.flatMap(({ choices }) => asList(choices)).slice(-1);
  assert.equal(typeof (choice as JsonObject).finish_reason, 'string');
  assert.match(headers.get('content-type') ?? '', /^text\/event-stream/);
}

const plain = (value: JsonObject): JsonObject => JSON.parse(JSON.stringify(value)) as JsonObject;
