// Schemas over the wire: they are lowered if they are not strict, repaired if their structure is unambiguous, and refused if their root is
// not an object. Their numbers keep their digits.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LOWERED_TOOLS } from '../../rules/tools/lowering.cases.ts';
import { LOOSE_PARAMETERS, STRICT_FORMATS, STRICT_PARAMETERS, STRICT_REPAIR, TYPE_VALUES } from '../../rules/tools/strict.cases.ts';
import { type Draft, startGateway } from '../../support/gateway.ts';
import { NATIVE_SOCKET, PUBLIC_SOCKET } from '../../support/native-frames.ts';
import { CHAT } from '../../support/turns/turn-paths.ts';
import { connect } from '../../support/websocket.ts';
import { fromTools } from '../../support/wire/case.ts';
import { testTable } from '../../support/wire/table.ts';

testTable('[F5.1] loose function schemas are lowered, strict ones are left', fromTools(LOWERED_TOOLS));
testTable('[F5.7] strict structured output has a direct object root', fromTools(STRICT_FORMATS));
testTable('[F5.7] strict parameters have a direct object root', fromTools(STRICT_PARAMETERS));
testTable('[F5.7] a root that is not strict is left alone', fromTools(LOOSE_PARAMETERS));
testTable('[F5.6] bad type values of strict parameters are refused', fromTools(TYPE_VALUES));
testTable('[F5.6] a missing nested type is filled only where the structure is unambiguous', fromTools(STRICT_REPAIR));

describe('[Q31] numbers of strict schemas that a double cannot hold are sent as the client wrote them', () => {
  const BOUNDS = '{"minimum":-9223372036854775808,"maximum":9223372036854775807,"enum":[9007199254740993,1e400,7,0.5]}';
  const TOOL = `{"type":"function","name":"f","strict":true,"parameters":{"type":"object","properties":{"id":${BOUNDS}}}}`;
  const body = (members = ''): string => `{"model":"model-a","store":false,"stream":true,"input":[],"tools":[${TOOL}]${members}}`;
  const loose = (draft: Draft): void => {
    for (const account of draft.accounts) account.drop_fields = ['pad'];
  };

  for (const [what, text] of [
    ['', body()],
    [', also in a body that is parsed in parts', body(`,"pad":"${'a'.repeat(3_000_000)}"`)],
  ] as const) {
    test(`over HTTP${what}`, async () => {
      await using gate = await startGateway({ upstream: { accounts: ['north'], strict: false }, config: loose });
      for (const path of ['/backend-api/agent/responses', '/v1/responses']) {
        assert.equal((await gate.send(path, { body: text })).status, 200);
        assert.ok(gate.upstream.turns().at(-1)?.body.includes(BOUNDS), path);
      }
    });
  }

  test('as a frame', async () => {
    await using gate = await startGateway({ upstream: { accounts: ['north'], strict: false } });
    for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
      using socket = await connect(gate, path);
      socket.send(body(',"type":"response.create"'));
      while ((await socket.next()).type !== 'response.completed');
      assert.ok(gate.upstream.turns().at(-1)?.body.includes(BOUNDS), path);
    }
  });

  test('members of the request itself stay numbers for the rules that read them', async () => {
    await using gate = await startGateway({ upstream: { accounts: ['north'] } });
    const turn = '"model":"model-a","messages":[{"role":"user","content":"hi"}]';
    const { status, json } = await gate.send(CHAT, { body: `{${turn},"n":9007199254740993,"metadata":{"a":9007199254740993}}` });
    assert.deepEqual([status, json.error.code, json.error.param], [400, 'unsupported_parameter', 'n']);
  });
});
