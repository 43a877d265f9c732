// Recorded turns of a native client in both modes reach the account exactly as the contract says.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { zstdCompressSync } from 'node:zlib';
import type { Fault } from '../../../proxy/rehearsal/faults/fault.ts';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { startGateway } from '../../support/gateway.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { at } from '../../support/rehearsal-client.ts';
import { modelEntry, replyEvents, turnBody } from '../../support/rehearsal-replies.ts';
import { connect } from '../../support/websocket.ts';

interface Recorded {
  readonly client: 'http' | 'websocket';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
  /** The body that must reach the account, by mode; it is written by hand from the contract. */
  readonly full: JsonObject;
  readonly lite: JsonObject;
}

const FOLDER = new URL('../../fixtures/native/', import.meta.url);
const ROUTES = ['/backend-api/agent/responses', '/backend-api/agent/v1/responses'] as const;
const MARKER = 'x-internal-agent-responses-lite';

/**
 * Headers that F8.1 removes, or that are written for each hop. Turn state goes back only to the account that issued it, and no account
 * issued one here.
 */
const NOT_FORWARDED = new Set(['session-id', MARKER, 'x-agent-turn-state']);

const recorded = readdirSync(FOLDER)
  .map((file) => ({ name: file.replace('.json', ''), ...(JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as Recorded) }))
  // Long texts of the recordings are cut, with a mark that a header may not have.
  .map((turn) => ({ ...turn, headers: JSON.parse(JSON.stringify(turn.headers).replaceAll('…', '...')) as Record<string, string> }));
const turns = recorded.filter(({ client }) => client === 'http');
const frames = recorded.filter(({ client }) => client === 'websocket');

const gate = await startGateway({
  upstream: { accounts: [{ id: 'north', models: [modelEntry({ slug: 'gpt-5.5' })] }], manners: { streamedUnstoredLists: false } },
});
after(() => gate.close());

async function arriving(path: string, body: JsonObject | Uint8Array, headers: Record<string, string>) {
  gate.upstream.clear();
  const reply = await gate.send(path, { body, headers });
  assert.equal(reply.status, 200, reply.text);
  assert.equal(eventsOf(reply.text).at(-1)?.event, 'response.completed');
  const [turn] = gate.upstream.turns();
  return turn ?? assert.fail('nothing arrived');
}

for (const mode of ['full', 'lite'] as const) {
  for (const { name, body, headers, ...expected } of turns) {
    test(`[F2.11] the recorded ${name} arrives in ${mode} as the contract says`, async () => {
      await gate.reconfigure((draft) => {
        draft.pools[0].serving_modes = { 'gpt-5.5': mode };
      });
      for (const path of ROUTES) {
        const turn = await arriving(path, body, headers);
        assert.deepEqual(turn.json, expected[mode]);
        assert.equal(turn.headers[MARKER], mode === 'lite' ? 'true' : undefined);
        for (const [header, value] of Object.entries(headers)) {
          if (!NOT_FORWARDED.has(header)) assert.equal(turn.headers[header], value, header);
        }
        assert.equal(turn.headers['session-id'], undefined);
        assert.deepEqual((await arriving(path, turn.json as JsonObject, headers)).json, expected[mode], '[F2.10] and again');
      }
    });

    test(`[F2.11] ${name} arrives in the same way when the client compressed it`, async () => {
      const compressed = zstdCompressSync(JSON.stringify(body));
      const turn = await arriving(ROUTES[0], compressed, { ...headers, 'content-encoding': 'zstd' });
      assert.deepEqual(turn.json, expected[mode]);
      assert.equal(turn.headers['content-encoding'], undefined);
    });
  }
}

/** The turn before a recorded frame: its response is the anchor, and its turn state is sent back. */
const turnBefore = (anchor: string, state: Json): Fault => {
  const response = { id: anchor, status: 'completed', output: [] };
  return replyEvents([
    { type: 'response.metadata', headers: { 'x-agent-turn-state': state } },
    { type: 'response.completed', response },
  ]);
};

for (const mode of ['full', 'lite'] as const) {
  for (const { name, body, headers, ...expected } of frames) {
    test(`[F2.11] the recorded ${name} arrives in ${mode} as the contract says`, async () => {
      await gate.reconfigure((draft) => {
        draft.pools[0].serving_modes = { 'gpt-5.5': mode };
      });
      const { type: _, ...members } = body;
      for (const path of ROUTES) {
        gate.upstream.clear();
        // The frame has its own session, because the same frame in the same session would continue the former turn (F8.4).
        const sent = { ...headers, 'x-agent-window-id': `${name}-${mode}-${path}:0` };
        using socket = await connect(gate, path, { headers: sent });
        if (typeof body.previous_response_id === 'string') {
          gate.upstream.next('north', turnBefore(body.previous_response_id, at(body, 'client_metadata', 'x-agent-turn-state') ?? null));
          await socket.turn(turnBody('', { model: 'gpt-5.5' }));
        }
        assert.equal((await socket.turn(members)).at(-1)?.type, 'response.completed');
        const turn = gate.upstream.turns().at(-1);
        assert.deepEqual(turn?.json, expected[mode]);
        assert.equal(turn?.headers[MARKER], undefined);
        for (const [header, value] of Object.entries(sent)) {
          if (!NOT_FORWARDED.has(header)) assert.equal(turn.headers[header], value, header);
        }
        assert.equal(turn.headers['session-id'], undefined);
      }
    });
  }
}

test('[F5.1] a recorded turn with loose schemas arrives with lowered ones, in the tools and in the Lite prefix', async () => {
  const full = turns.find(({ name }) => name === 'full-turn') ?? assert.fail();
  const loose = {
    type: 'object',
    title: 'T',
    properties: { a: { const: 1 }, b: true },
    $schema: 'https://json-schema.org/draft/2020-12/schema',
  };
  const lowered = { type: 'object', properties: { a: { enum: [1] }, b: {} } };
  const tools = (parameters: JsonObject): readonly JsonObject[] => [
    { type: 'function', name: 'f', strict: false, parameters },
    { type: 'namespace', name: 'n', description: 'd', tools: [{ type: 'function', name: 'g', strict: false, parameters }] },
    { type: 'function', name: 'h', strict: true, parameters: { ...loose, required: ['a'] } },
  ];
  const strict = (given: readonly JsonObject[]): readonly JsonObject[] => [...given.slice(0, 2), ...tools(loose).slice(2)];
  for (const mode of ['full', 'lite'] as const) {
    await gate.reconfigure((draft) => {
      draft.pools[0].serving_modes = { 'gpt-5.5': mode };
    });
    const { json } = await arriving(ROUTES[0], { ...full.body, tools: tools(loose) }, full.headers);
    const { tools: top, input } = json as { readonly tools?: JsonObject[]; readonly input: readonly JsonObject[] };
    const arrived = mode === 'full' ? top : input[0]?.tools;
    assert.deepEqual(arrived, strict(tools(lowered)));
    assert.equal(top === undefined, mode === 'lite');
  }
});
