// The websocket client of the official OpenAI SDK on the compatible surface: a session of anchored turns, refusals, a lost anchor.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';
import { ResponsesWebSocketSession } from 'openai/lib/responses/responses-websocket-session';
import type { ResponsesClientEvent, ResponsesServerEvent } from 'openai/resources/responses/responses';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { keyOf, startStage } from '../crossing/stage.ts';
import { KEY, startGateway, type TestGateway } from '../support/gateway.ts';
import { PATIENCE_MS, until } from '../support/until.ts';

const clientOf = (gate: TestGateway): OpenAI => new OpenAI({ apiKey: KEY, baseURL: `${gate.url}/v1`, maxRetries: 0 });

const weather = {
  type: 'function',
  name: 'get_weather',
  strict: false,
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
} as const;

type Terminal = Extract<ResponsesServerEvent, { type: 'response.completed' }>;
type Turn = Omit<Extract<ResponsesClientEvent, { type: 'response.create' }>, 'type'>;

/** A session of the SDK that runs turns one after the other. */
class Session {
  readonly #socket: ResponsesWS;
  readonly #messages: AsyncIterator<unknown>;

  constructor(client: OpenAI) {
    this.#socket = new ResponsesWS(client);
    this.#messages = this.#socket.stream()[Symbol.asyncIterator]();
  }

  /** The events of a turn up to its end, or the error that the SDK reports. */
  async turn(body: Turn): Promise<{ readonly events: readonly ResponsesServerEvent[]; readonly error?: Error }> {
    this.#socket.send({ type: 'response.create', ...body });
    const events: ResponsesServerEvent[] = [];
    for (;;) {
      const { value, done } = (await this.#messages.next()) as IteratorResult<
        | { readonly type: 'message'; readonly message: ResponsesServerEvent }
        | { readonly type: 'error'; readonly error: Error }
        | { readonly type: 'connecting' | 'open' | 'close' }
      >;
      assert.ok(!done, 'the websocket ended');
      if (value.type === 'error') return { events, error: value.error };
      assert.notEqual(value.type, 'close', 'the websocket was closed');
      if (value.type !== 'message') continue;
      events.push(value.message);
      if (value.message.type === 'response.completed') return { events };
    }
  }

  async completed(body: Turn): Promise<Terminal['response']> {
    const { events, error } = await this.turn(body);
    const last = events.at(-1);
    assert.ok(last?.type === 'response.completed', String(error));
    return last.response;
  }

  close(): void {
    this.#socket.close();
  }
}

const textOf = ({ output }: Terminal['response']): string | undefined => {
  const message = output.find(({ type }) => type === 'message');
  return message?.type === 'message' && message.content[0]?.type === 'output_text' ? message.content[0].text : undefined;
};

test('a session of anchored turns runs over one websocket to one account', async () => {
  await using gate = await startGateway();
  const session = new Session(clientOf(gate));
  const { events } = await session.turn({ model: 'model-a', input: 'say: hello there' });
  const numbers = events.flatMap((event) => ('sequence_number' in event ? [event.sequence_number] : []));
  assert.deepEqual(numbers, [...numbers.keys()], 'numbers without gaps');
  const first = events.at(-1);
  assert.ok(first?.type === 'response.completed');
  assert.equal(textOf(first.response), 'hello there');

  const second = await session.completed({
    model: 'model-a',
    previous_response_id: first.response.id,
    input: 'call the tool get_weather with {"city":"Oslo"}',
    tools: [weather],
  });
  const call = second.output.find(({ type }) => type === 'function_call');
  assert.ok(call?.type === 'function_call');
  assert.equal(call.arguments, '{"city":"Oslo"}');

  const third = await session.completed({
    model: 'model-a',
    previous_response_id: second.id,
    input: [{ type: 'function_call_output', call_id: call.call_id, output: 'rain' }],
    tools: [weather],
  });
  const fourth = await session.completed({ model: 'model-a', previous_response_id: third.id, input: 'say: goodbye' });
  assert.equal(textOf(fourth), 'goodbye');

  const turns = gate.upstream.turns();
  assert.deepEqual(
    turns.map(({ account, connection, json }) => [account, connection, (json as { previous_response_id?: string }).previous_response_id]),
    [
      ['north', 1, undefined],
      ['north', 1, first.response.id],
      ['north', 1, second.id],
      ['north', 1, third.id],
    ],
  );
  session.close();
  await gate.upstream.sockets('north', 0);
  assert.ok((await gate.rows()).every(({ outcome }) => outcome === 'completed'));
});

test('a refused turn is an error of the SDK, and the session continues', async () => {
  await using gate = await startGateway({ upstream: { accounts: ['north'] } });
  const session = new Session(clientOf(gate));
  const { id } = await session.completed({ model: 'model-a', input: 'say: hello' });
  const { error } = await session.turn({ model: 'no-such-model', input: 'hello' });
  assert.match(String(error), /The requested model is unknown/);
  const after = await session.completed({ model: 'model-a', previous_response_id: id, input: 'say: still here' });
  assert.equal(textOf(after), 'still here');
  assert.equal(gate.upstream.turns().length, 2);
  session.close();
});

test('an anchor of another connection is refused, and the full history starts a new chain', async () => {
  await using gate = await startGateway({ upstream: { accounts: ['north'] } });
  const former = new Session(clientOf(gate));
  const { id } = await former.completed({ model: 'model-a', input: 'say: hello' });
  former.close();
  await gate.upstream.sockets('north', 0);
  const session = new Session(clientOf(gate));
  const { error } = await session.turn({ model: 'model-a', previous_response_id: id, input: 'say: again' });
  assert.match(String(error), /previous_response_not_found|[Pp]revious response/);
  const history = [
    { role: 'user', content: 'say: hello' },
    { role: 'assistant', content: 'hello' },
    { role: 'user', content: 'say: again' },
  ] as const;
  assert.equal(textOf(await session.completed({ model: 'model-a', input: [...history] })), 'again');
  session.close();
});

for (const websocket of [true, false]) {
  test(`each lane of a session gets its own turns and refusals, over ${websocket ? 'a websocket' : 'HTTP'} to the account`, async () => {
    await using gate = await startGateway({
      upstream: { accounts: ['north', 'south'] },
      config: (draft) => {
        draft.accounts[0].websocket = websocket;
      },
    });
    const socket = new ResponsesWS(clientOf(gate));
    socket.on('error', () => undefined);
    await new Promise<void>((opened) => socket.socket.on('open', opened));
    const session = new ResponsesWebSocketSession(socket, { maxLanes: 3, maxBufferedEvents: 1_000, maxBufferedBytes: 1_000_000 });
    const lanes = [session.lane('first'), session.lane('second'), session.lane()];
    for (const [i, lane] of lanes.entries()) lane.create({ model: 'model-a', input: `say: number ${i}` });
    const answers = await Promise.all(lanes.map((lane) => lane.finalResponse({ signal: AbortSignal.timeout(PATIENCE_MS) })));
    assert.deepEqual(
      answers.map(({ output_text: said }) => said),
      ['number 0', 'number 1', 'number 2'],
    );
    assert.ok(gate.upstream.turns().every(({ json }) => !Object.hasOwn(json as object, 'stream_id')));
    for (const lane of lanes) {
      lane.create({ model: 'no-such-model', input: 'x' });
      await assert.rejects(lane.finalResponse({ signal: AbortSignal.timeout(PATIENCE_MS) }), /request failed/);
    }
    socket.close();
  });
}

test('a wrong key is refused at the upgrade', async () => {
  await using gate = await startGateway();
  const socket = new ResponsesWS(new OpenAI({ apiKey: 'wrong', baseURL: `${gate.url}/v1` }));
  const error = await new Promise<Error>((resolve) => socket.once('error', resolve));
  assert.match(error.message, /401/);
});

test('[RB31] a steered response is answered in the types of the SDK, and followed by a further response', async () => {
  await using gate = await startGateway();
  const socket = new ResponsesWS(clientOf(gate));
  gate.upstream.next('north', 'stall after 6 events');
  socket.send({ type: 'response.create', model: 'model-a', input: 'write 20 words' });
  const events: ResponsesServerEvent[] = [];
  const ended = (): number => events.filter(({ type }) => type === 'response.completed').length;
  for await (const one of socket.stream()) {
    assert.notEqual(one.type, 'error');
    if (one.type !== 'message') continue;
    const event = one.message as ResponsesServerEvent;
    events.push(event);
    const [created] = events.filter((each) => each.type === 'response.created');
    if (event.type === 'response.output_item.added' && created && ended() === 0 && events.length < 6)
      socket.send({ type: 'response.steer', previous_response_id: created.response.id, input: 'say: steered' });
    if (ended() === 1) break;
  }
  const accepted = events.find((event) => event.type === 'response.steer.accepted');
  const steered = events.find((event) => event.type === 'response.incomplete');
  const last = events.at(-1);
  assert.ok(accepted && steered && last?.type === 'response.completed');
  assert.equal(steered.response.incomplete_details?.reason, 'steered');
  assert.equal(accepted.steer.previous_response_id, steered.response.id);
  assert.equal(last.response.previous_response_id, steered.response.id);
  assert.equal(textOf(last.response), 'steered');
  socket.close();
});

test('[RB31] a steer that waits for the output of a tool is pending, and the SDK continues with an explicit request', async () => {
  await using gate = await startGateway();
  const socket = new ResponsesWS(clientOf(gate));
  gate.upstream.next('north', 'stall after 6 events + steer pending');
  socket.send({ type: 'response.create', model: 'model-a', input: 'call the tool get_weather with {"city":"Oslo"}', tools: [weather] });
  const events: ResponsesServerEvent[] = [];
  for await (const one of socket.stream()) {
    assert.notEqual(one.type, 'error');
    if (one.type !== 'message') continue;
    const event = one.message as ResponsesServerEvent;
    events.push(event);
    const created = events.find((each) => each.type === 'response.created');
    if (event.type === 'response.output_item.added' && created && !events.some(({ type }) => type === 'response.steer.accepted'))
      socket.send({ type: 'response.steer', previous_response_id: created.response.id, input: 'and in Fahrenheit' });
    else if (event.type === 'response.steer.accepted') gate.upstream.release('north');
    else if (event.type === 'response.steer.pending') {
      assert.equal(event.reason, 'waiting_for_required_input');
      const [stub] = event.required_input;
      assert.ok(stub?.type === 'function_call_output');
      const input = [{ ...stub, output: 'rain' } as never];
      socket.send({
        type: 'response.create',
        model: 'model-a',
        previous_response_id: event.steer.previous_response_id,
        input,
        tools: [weather],
      });
    } else if (events.filter(({ type }) => type === 'response.completed').length === 2) break;
  }
  socket.close();
  assert.equal(gate.upstream.turns().length, 2);
});

for (const websocket of [true, false]) {
  test(`[AA91] [AA33] [AA24] a session runs at a responses account ${websocket ? 'over its websocket' : 'over HTTP, by its history'}`, async () => {
    await using gate = await startStage({
      servers: [
        { id: 'native', api: 'agent' },
        { id: 'platform', api: 'responses', settings: { websocket } },
      ],
      // A client can connect only if an account of its Pool has a websocket.
      pools: { both: ['platform', 'native'] },
    });
    const session = new Session(new OpenAI({ apiKey: keyOf('both'), baseURL: `${gate.url}/v1`, maxRetries: 0 }));
    const { events } = await session.turn({ model: 'model-a', input: 'call the tool get_weather with {"city":"Oslo"}', tools: [weather] });
    const numbers = events.flatMap((event) => ('sequence_number' in event ? [event.sequence_number] : []));
    assert.deepEqual(numbers, [...numbers.keys()], 'numbers without gaps');
    const first = events.at(-1);
    assert.ok(first?.type === 'response.completed');
    const call = first.response.output.find(({ type }) => type === 'function_call');
    assert.ok(call?.type === 'function_call');
    assert.equal(call.arguments, '{"city":"Oslo"}');
    const second = await session.completed({
      model: 'model-a',
      previous_response_id: first.response.id,
      input: [{ type: 'function_call_output', call_id: call.call_id, output: 'rain' }],
      tools: [weather],
    });
    assert.match(textOf(second) ?? '', /rain/);
    const third = await session.completed({ model: 'model-a', previous_response_id: second.id, input: 'say: goodbye' });
    assert.equal(textOf(third), 'goodbye');
    const turns = gate.upstream.turns('platform');
    const sent = turns.map(({ json }) => json as { readonly previous_response_id?: string; readonly input: readonly unknown[] });
    assert.equal(gate.upstream.turns('native').length, 0);
    if (websocket) {
      assert.deepEqual(
        turns.map(({ connection }, i) => [connection, sent[i]?.previous_response_id]),
        [
          [1, undefined],
          [1, first.response.id],
          [1, second.id],
        ],
      );
    } else {
      assert.ok(sent.every(({ previous_response_id: anchor }) => anchor === undefined));
      assert.ok((sent[2]?.input.length ?? 0) > (sent[1]?.input.length ?? 0) && (sent[1]?.input.length ?? 0) > 1, 'the whole conversation');
    }
    session.close();
    await until('the rows of the turns', async () => ((await gate.rows()).length >= 3 ? true : undefined));
    assert.ok((await gate.rows()).every(({ outcome }) => outcome === 'completed'));
  });
}
