// Edits of each attempt: the account's name of the model, its dropped fields, and the marker by carrier.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import type { Outgoing } from '../../../proxy/turn/turn.ts';
import { dropFields } from '../../../rules/dialect/drop-fields.ts';
import { liteMarker, markerHeader } from '../../../rules/dialect/lite-marker.ts';
import { modelMapping } from '../../../rules/dialect/model-mapping.ts';
import { phase, run, type TurnOptions, turnOf } from '../../support/turns/turn.ts';
import { AUTO_LITE, FULL, LITE, plain } from './case.ts';

const HEADER = 'x-internal-agent-responses-lite';
const ENTRY = 'ws_request_header_x_internal_agent_responses_lite';
const RULES = [modelMapping, dropFields, markerHeader, liteMarker];

const lite: TurnOptions = { model: { mode: LITE } };
const full: TurnOptions = { model: { mode: FULL } };

async function sent(
  body: JsonObject,
  options: TurnOptions,
  carrier: Outgoing['carrier'],
  headers: Record<string, string> = {},
): Promise<{ readonly headers: Record<string, string>; readonly body: unknown }> {
  const out = (await run(RULES, { model: 'model-a', ...body }, options)).attempt({}, carrier, headers);
  const { model: _, ...rest } = out.body;
  return { headers: out.headers, body: plain(rest) };
}

test('[F1.5] each account gets the model by its own name, else by the exposed one', async () => {
  for (const options of [lite, full]) {
    const ran = await run(RULES, { model: 'model-a' }, options);
    assert.equal(ran.attempt({ models: { 'model-a': 'theirs' } }).body.model, 'theirs');
    assert.equal(ran.attempt({ models: { 'model-b': 'theirs' } }).body.model, 'model-a');
    assert.equal(ran.attempt().body.model, 'model-a', 'an earlier attempt leaves nothing behind');
  }
});

test('[F1.5] a name of a member of every object is not a mapping', async () => {
  const ran = await run(RULES, { model: 'constructor' }, { model: { id: 'constructor' } });
  assert.equal(ran.attempt().body.model, 'constructor');
});

test('[Q15] the dropped fields of an account leave its attempts only', async () => {
  const ran = await run(RULES, { model: 'model-a', temperature: 1, top_p: 1, input: [] });
  assert.deepEqual(ran.attempt({ drop_fields: ['temperature', 'top_p', 'absent'] }).body, { model: 'model-a', input: [] });
  assert.deepEqual(ran.attempt().body, { model: 'model-a', temperature: 1, top_p: 1, input: [] });
});

test('[F2.1] Lite over HTTP has the header true and nothing in the body', async () => {
  for (const mode of [LITE, AUTO_LITE]) {
    assert.deepEqual(await sent({ input: [] }, { model: { mode } }, 'http'), { headers: { [HEADER]: 'true' }, body: { input: [] } });
  }
});

test('[F2.1] Full has no marker, not even false', async () => {
  assert.deepEqual(await sent({ input: [] }, full, 'http'), { headers: {}, body: { input: [] } });
  assert.deepEqual(await sent({ input: [] }, full, 'websocket'), { headers: {}, body: { input: [] } });
});

test('[F2.2] Lite over a websocket has the metadata entry and no header', async () => {
  const client_metadata = { turn_id: 't' };
  assert.deepEqual(await sent({ client_metadata }, lite, 'websocket'), {
    headers: {},
    body: { client_metadata: { turn_id: 't', [ENTRY]: 'true' } },
  });
  assert.deepEqual(await sent({}, lite, 'websocket'), { headers: {}, body: { client_metadata: { [ENTRY]: 'true' } } });
});

test('[F2.2] the marker stays where an account drops client_metadata', async () => {
  const ran = await run(RULES, { client_metadata: { turn_id: 't' } }, lite);
  assert.deepEqual(ran.attempt({ drop_fields: ['client_metadata'] }, 'websocket').body.client_metadata, { [ENTRY]: 'true' });
});

test('[F2.2] the carrier decides, so a websocket turn that is sent over HTTP has the header', async () => {
  const ran = await run(RULES, { client_metadata: { turn_id: 't' } }, { ...lite, client: 'websocket' });
  const http = ran.attempt({}, 'http');
  assert.deepEqual([http.headers, http.body.client_metadata], [{ [HEADER]: 'true' }, { turn_id: 't' }]);
  assert.deepEqual(ran.attempt({}, 'websocket').body.client_metadata, { turn_id: 't', [ENTRY]: 'true' }, 'and on failover the other way');
});

const SPELLINGS = [
  ENTRY,
  ENTRY.toUpperCase(),
  'Ws_Request_Header_X-Internal-Agent-Responses-Lite',
  HEADER,
  'x_internal_agent_responses_lite',
];

for (const [mode, options, mine] of [
  ['Full', full, {}],
  ['Lite', lite, { [ENTRY]: 'true' }],
] as const) {
  for (const spelling of SPELLINGS) {
    test(`[F2.4] in ${mode} a client's ${spelling} entry is removed`, async () => {
      const out = await sent({ client_metadata: { [spelling]: 'false', turn_id: 't' } }, options, 'websocket');
      assert.deepEqual(out.body, { client_metadata: { turn_id: 't', ...mine } });
      const http = await sent({ client_metadata: { [spelling]: 'false', turn_id: 't' } }, options, 'http');
      assert.deepEqual(http.body, { client_metadata: { turn_id: 't' } });
    });
  }
  test(`[F2.4] in ${mode} a client's header is removed`, async () => {
    const { headers } = await sent({}, options, 'websocket', {
      [HEADER]: 'false',
      'x_internal-agent_responses-lite': 'true',
      'x-agent-window-id': 'w',
    });
    assert.deepEqual(headers, { 'x-agent-window-id': 'w' });
  });
}

test('[F2.4] metadata without a marker is the very same object, and one that is emptied stays', async () => {
  const ran = await run(RULES, { client_metadata: { ws_request_header_x_other: 'true' } }, full);
  const before = ran.body.client_metadata;
  phase(liteMarker, 'request')({ body: ran.body }, ran.turn);
  assert.equal(ran.body.client_metadata, before);
  assert.deepEqual((await sent({ client_metadata: { [ENTRY]: 'true' } }, full, 'http')).body, { client_metadata: {} });
});

test('[F2.4] metadata that is not an object is left unchanged in Full', async () => {
  for (const client_metadata of ['x', null, ['x'], 5])
    assert.deepEqual((await sent({ client_metadata }, full, 'websocket')).body, { client_metadata });
});

test('[F2.4] the header is dropped on every route, whatever the deployment calls it and however it is spelled there', () => {
  assert.equal(markerHeader.routes, '*');
  const turn = turnOf({ kind: 'forward' });
  const wire = { ...turn.wire, lite_marker: 'X-OpenAI-Internal-Lite' };
  const headers = { 'x-openai-internal-lite': 'true', 'x-openai-other': 'y' };
  phase(markerHeader, 'attempt')(
    {
      account: { id: '', label: '', models: {}, keep_fields: [], drop_fields: [], compact: 'route' },
      api: 'agent',
      carrier: 'http',
      path: '/',
      headers,
      body: {},
    },
    undefined,
    { ...turn, wire },
  );
  assert.deepEqual(headers, { 'x-openai-other': 'y' });
});

test('[F2.3] a marker in a provider reply does not reach the client', () => {
  const headers = { [HEADER]: 'true', 'content-type': 'application/json' };
  phase(markerHeader, 'head')({ status: 200, headers }, undefined, turnOf());
  assert.deepEqual(headers, { 'content-type': 'application/json' });
});
