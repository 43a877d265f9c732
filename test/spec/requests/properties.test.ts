// Properties of every body over the wire, well-formed or hostile: a second pass changes nothing, and Full changes only what it has to.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { generatedBody, NAMED, RandomSource, unlowered, withoutSystem } from '../../rules/dialect/bodies.ts';
import { startGateway } from '../../support/gateway.ts';
import { modelEntry } from '../../support/rehearsal-replies.ts';
import { seedRow, seedsUntil } from '../../support/sample.ts';

const NATIVE = '/backend-api/agent/responses';
const ROUTES = [NATIVE, '/backend-api/agent/v1/responses', '/v1/responses'] as const;
const MARKER = 'x-internal-agent-responses-lite';
const SEEDS = seedRow({ daily: 16, all: 80 });

const gate = await startGateway({
  upstream: { strict: false, accounts: [{ id: 'north', models: ['full', 'lite'].map((slug) => modelEntry({ slug })) }] },
  config: (draft) => {
    draft.pools[0].serving_modes = { full: 'full', lite: 'lite' };
  },
});
after(() => gate.close());

interface Sent {
  readonly json: JsonObject;
  readonly marker: string | undefined;
}

/** The body that reached the account; undefined if the turn got an error of the table and nothing was sent. */
async function sent(path: string, body: JsonObject): Promise<Sent | undefined> {
  gate.upstream.clear();
  const reply = await gate.send(path, { body });
  const [turn, ...others] = gate.upstream.turns();
  assert.equal(others.length, 0);
  assert.ok(![...reply.headers.keys()].includes(MARKER));
  if (turn) return { json: turn.json as JsonObject, marker: turn.headers[MARKER] as string | undefined };
  assert.deepEqual([reply.status, Object.keys(reply.json.error).sort()], [400, ['code', 'message', 'param', 'type']], reply.text);
  return undefined;
}

for (const mode of ['full', 'lite'] as const) {
  for (const path of ROUTES) {
    test(`[F2.10] on ${path} in ${mode}: every sent body is the same when it is sent again`, async () => {
      let passed = 0;
      const suffices = (): boolean => passed > SEEDS.length / 10;
      for (const seed of seedsUntil(suffices, SEEDS)) {
        const body = generatedBody(new RandomSource(seed));
        const once = await sent(path, body.model === 'model-a' ? { ...body, model: mode } : body);
        if (!once) continue;
        passed++;
        assert.equal(once.marker, mode === 'lite' ? 'true' : undefined);
        const again = await sent(path, once.json);
        assert.deepEqual(again?.json, once.json, `seed ${seed}`);
      }
      assert.ok(suffices(), `${passed} bodies passed`);
    });
  }
}

test('[F2.11] outside the members that the contract names a Full body is sent as it came', async () => {
  for (const seed of SEEDS) {
    const body = { ...generatedBody(new RandomSource(seed)), model: 'full' };
    const out = (await sent(NATIVE, body))?.json;
    if (!out) continue;
    for (const member of new Set([...Object.keys(body), ...Object.keys(out)])) {
      if (NAMED.has(member)) continue;
      assert.deepEqual(unlowered(out[member]), unlowered(withoutSystem((body as JsonObject)[member])), `seed ${seed}: ${member}`);
    }
  }
});

test('[F2.11] a native Full body is sent with the same bytes for its content: numbers, unicode, member order, unknown members', async () => {
  const body: JsonObject = {
    zebra: [1, -0.5, 1e21, 12345678901234],
    model: 'full',
    stream: true,
    input: [{ type: 'tomorrow', z: 1, a: { b: null, é: '\u2028 "\\ 😀' } }],
    tools: [
      { type: 'web_search', external_web_access: false },
      { type: 'tomorrow', deep: [[[]]] },
    ],
    reasoning: { effort: 'low', summary: null },
    include: ['reasoning.encrypted_content'],
    '': { '': '' },
    10: 'ten',
  };
  gate.upstream.clear();
  assert.equal((await gate.send(NATIVE, { body })).status, 200);
  assert.equal(gate.upstream.turns()[0]?.body.toString(), JSON.stringify(body));
});
