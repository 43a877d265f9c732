// Edits that are made again for each account of a turn: the name of the model, dropped fields, the credential, the marker.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { ShiftedClock } from '../../support/clocks/shifted-clock.ts';
import { bearerOf, type Draft, startGateway } from '../../support/gateway.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { modelEntry } from '../../support/rehearsal-replies.ts';
import { CHAT, CHAT_ALIAS, isCompatible, turnOn } from '../../support/turns/turn-paths.ts';

const MARKER = 'x-internal-agent-responses-lite';
const ROUTES = ['/backend-api/agent/responses', '/backend-api/agent/v1/responses', '/v1/responses', CHAT, CHAT_ALIAS] as const;

const clock = new ShiftedClock();
const gate = await startGateway({
  clock,
  upstream: {
    manners: { streamedUnstoredLists: false, knownMembers: false },
    accounts: [
      { id: 'north', models: ['north-full', 'north-lite'].map((slug) => modelEntry({ slug })) },
      { id: 'south', models: ['south-full', 'south-lite'].map((slug) => modelEntry({ slug })) },
    ],
  },
  config: (draft: Draft) => {
    const [north, south] = draft.accounts;
    Object.assign(north, { models: { full: 'north-full', lite: 'north-lite' }, drop_fields: ['temperature', 'client_metadata'] });
    Object.assign(south, { models: { full: 'south-full', lite: 'south-lite' }, drop_fields: ['top_p'] });
    for (const account of [north, south]) account.keep_fields = ['temperature', 'top_p'];
    Object.assign(draft.pools[0], { strategy: 'fill_first', serving_modes: { full: 'full', lite: 'lite' } });
  },
});
after(() => gate.close());

for (const mode of ['full', 'lite'] as const) {
  for (const path of ROUTES) {
    for (const stream of [true, false]) {
      test(`[F1.5] ${path} in ${mode}, ${stream ? 'streamed' : 'collected'}: each account gets its own model name and fields`, async () => {
        gate.upstream.clear();
        clock.setAhead(600_000);
        gate.upstream.next('north', 'refuse 503');
        const body = turnOn(path, 'hi', { model: mode, stream, temperature: 1, top_p: 0.5, client_metadata: { turn_id: 't' } });
        const reply = await gate.send(path, { body });
        assert.equal(reply.status, 200, reply.text);
        const [north, south, ...others] = gate.upstream.turns();
        assert.ok(north && south && others.length === 0);
        const told = ({ json, headers }: typeof north): unknown => {
          const { model, temperature, top_p, client_metadata } = json as JsonObject;
          return [model, temperature, top_p, client_metadata, headers.authorization, headers[MARKER]];
        };
        const marker = mode === 'lite' ? 'true' : undefined;
        assert.deepEqual(told(north), [`north-${mode}`, undefined, 0.5, undefined, `Bearer ${bearerOf('north')}`, marker]);
        assert.deepEqual(told(south), [`south-${mode}`, 1, undefined, { turn_id: 't' }, `Bearer ${bearerOf('south')}`, marker]);
        const models = stream ? eventsOf(reply.text).flatMap(({ data }) => data.response?.model ?? data.model ?? []) : [reply.json.model];
        assert.deepEqual(new Set(models), new Set([isCompatible(path) ? mode : `south-${mode}`]));
      });
    }
  }
}

test('[F1.5] the row has the exposed id, whatever the accounts call the model', async () => {
  const rows = await gate.rows();
  assert.deepEqual(new Set(rows.map(({ model }) => model)), new Set(['full', 'lite']));
});
