// The Lite marker over the wire: the gateway sends only its own, by mode; markers of clients are not sent, markers of providers are not
// returned, and neither has an effect.
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { type Draft, startGateway } from '../../support/gateway.ts';
import { modelEntry, replyJson, turnBody } from '../../support/rehearsal-replies.ts';
import { byTurns } from '../../support/sample.ts';
import { CHAT, turnOn } from '../../support/turns/turn-paths.ts';

const PUBLIC = '/v1/responses';
const MODES = ['full', 'lite'] as const;

/** Names of the marker inside and outside the header families that native routes pass on (Q15). */
const MARKERS = ['x-internal-agent-responses-lite', 'x-agent-lite', 'x-openai-internal-agent-lite'] as const;

const nextPaths = byTurns(['/backend-api/agent/responses', PUBLIC, CHAT]);

const capitals = (name: string): string => name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase());

for (const marker of MARKERS) {
  describe(`where the marker is ${marker}`, async () => {
    const wire = { agent: 'agent', meter: 'meter', lite_marker: marker, client_version: '0.0.0' };
    const underscored = marker.replaceAll('-', '_');
    const entry = `ws_request_header_${underscored}`;
    const gate = await startGateway({
      upstream: {
        wire,
        manners: { streamedUnstoredLists: false, knownMembers: false },
        accounts: [{ id: 'north', models: MODES.map((slug) => modelEntry({ slug })) }],
      },
      config: (draft: Draft) => {
        draft.wire = wire;
        draft.pools[0].serving_modes = { full: 'full', lite: 'lite' };
      },
    });
    after(() => gate.close());

    /** Sends a request with these markers, and returns the turn that the account got. */
    async function arrived(path: string, body: JsonObject, headers: Record<string, string>) {
      gate.upstream.clear();
      const reply = await gate.send(path, { body, headers });
      assert.equal(reply.status, 200, reply.text);
      const [turn, ...others] = gate.upstream.turns();
      assert.ok(turn && others.length === 0);
      const names = Object.keys(turn.headers).filter((name) => name.replaceAll('_', '-') === marker);
      return { markers: Object.fromEntries(names.map((name) => [name, turn.headers[name]])), json: turn.json as JsonObject };
    }

    for (const mode of MODES) {
      const ours = mode === 'lite' ? { [marker]: 'true' } : {};

      test(`[F2.1] ${mode}: ${mode === 'lite' ? 'the header is true' : 'there is no header, not even false'}`, async () => {
        for (const path of [`/backend-api/agent/responses`, '/backend-api/agent/v1/responses', PUBLIC, CHAT]) {
          for (const stream of [true, false]) {
            const { markers, json } = await arrived(path, turnOn(path, 'hi', { model: mode, stream }), {});
            assert.deepEqual(markers, ours);
            assert.ok(!JSON.stringify(json).includes(underscored), '[F2.3] no marker in an HTTP body');
          }
        }
      });

      test(`[F2.4] ${mode}: a client's header is removed, whatever its value and spelling`, async () => {
        for (const name of [marker, capitals(marker), underscored, marker.replace('-', '_')]) {
          for (const value of ['true', 'false', '', '1']) {
            for (const path of nextPaths()) {
              const { markers } = await arrived(path, turnOn(path, 'hi', { model: mode }), { [name]: value });
              assert.deepEqual(markers, ours, `${name}: ${value}`);
            }
          }
        }
      });

      test(`[F2.4] ${mode}: a client's metadata entry is removed, whatever its value and spelling`, async () => {
        for (const name of [entry, entry.toUpperCase(), capitals(`ws_request_header_${marker}`), marker, underscored]) {
          for (const value of ['true', 'false', true, null, {}]) {
            for (const path of nextPaths()) {
              const body = turnOn(path, 'hi', { model: mode, client_metadata: { turn_id: 't', [name]: value } });
              const { markers, json } = await arrived(path, body, {});
              assert.deepEqual([markers, json.client_metadata], [ours, { turn_id: 't' }], `${name}: ${JSON.stringify(value)}`);
            }
          }
        }
      });

      test(`[F2.4] ${mode}: no preference of a client is read`, async () => {
        const wish = mode === 'lite' ? 'full' : 'lite';
        const body = turnBody('hi', {
          model: mode,
          serving_mode: wish,
          mode: wish,
          use_responses_lite: wish === 'lite',
          metadata: { [entry]: 'true', serving_mode: wish },
        });
        const headers = {
          'x-serving-mode': wish,
          'x-agent-serving-mode': wish,
          prefer: `mode=${wish}`,
          'x-use-responses-lite': String(wish === 'lite'),
        };
        const { markers, json } = await arrived('/backend-api/agent/responses', body, headers);
        const [first] = json.input as readonly JsonObject[];
        assert.deepEqual([markers, first?.type === 'additional_tools'], [ours, mode === 'lite']);
        assert.deepEqual(json.metadata, body.metadata, 'what is no client_metadata is a body key like any other');
      });

      test(`[F2.3] ${mode}: a provider's marker is on no answer and on no refusal`, async () => {
        const headers = { [marker]: 'true', [underscored]: 'true' };
        const error = { error: { type: 'invalid_request_error', code: 'bad_request', message: 'no', param: null } };
        for (const path of ['/backend-api/agent/responses', PUBLIC, CHAT]) {
          for (const [status, json] of [
            [200, { id: 'resp_1', output: [] }],
            [422, error],
            [500, error],
          ] as const) {
            gate.upstream.next('north', replyJson(json, { status, headers }));
            const reply = await gate.send(path, { body: turnOn(path, 'hi', { model: mode, stream: false }) });
            const names = [...reply.headers.keys()].filter((name) => name.replaceAll('_', '-') === marker);
            assert.deepEqual(names, [], `${path} ${status}`);
          }
        }
      });
    }
  });
}
