// Recorded native turns in both modes, compared with the bodies that the contract requires. Their texts are shortened, their structure is
// complete.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { RULES } from '../../../rules/index.ts';
import { run, type TurnOptions } from '../../support/turns/turn.ts';
import { FULL, LITE, plain } from './case.ts';

/**
 * `full` and `lite` are the bodies that have to be sent over the client's own kind of connection. None of these schemas has anything to
 * lower (F5.1), so they are valid with and without the tool rules.
 */
interface Recorded {
  readonly client: 'http' | 'websocket';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
  readonly full: JsonObject;
  readonly lite: JsonObject;
}

const FOLDER = new URL('../../fixtures/native/', import.meta.url);
const HEADER = 'x-internal-agent-responses-lite';
const ENTRY = 'ws_request_header_x_internal_agent_responses_lite';

for (const file of readdirSync(FOLDER)) {
  const { client, headers, body, ...expected } = JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as Recorded;
  const model = { id: String(body.model) };

  for (const mode of [FULL, LITE]) {
    const options: TurnOptions = { client, model: { ...model, mode } };
    const { [HEADER]: _, ...others } = headers;
    const sent = async (from: JsonObject) => (await run(RULES, from, options)).attempt({}, client, { ...headers });

    test(`[F2.11] ${file.replace('.json', '')} is sent in ${mode.effective} as the contract requires`, async () => {
      const out = await sent(body);
      assert.deepEqual(plain(out.body), expected[mode.effective]);
      assert.deepEqual(out.headers, mode === LITE && client === 'http' ? { ...others, [HEADER]: 'true' } : others);
    });

    test(`[F2.10] ${file.replace('.json', '')} sent through ${mode.effective} again does not change`, async () => {
      assert.deepEqual(plain((await sent(expected[mode.effective])).body), expected[mode.effective]);
    });
  }

  test(`[F2.4] ${file.replace('.json', '')} over the other carrier has its marker on the other side`, async () => {
    const carrier = client === 'http' ? 'websocket' : 'http';
    const out = (await run(RULES, body, { client, model: { ...model, mode: LITE } })).attempt({}, carrier, { ...headers });
    const metadata = out.body.client_metadata as JsonObject;
    assert.deepEqual([out.headers[HEADER], metadata[ENTRY]], carrier === 'http' ? ['true', undefined] : [undefined, 'true']);
  });
}
