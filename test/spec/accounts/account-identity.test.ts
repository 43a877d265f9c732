// The headers by which a provider recognises its clients are settings of an account; the header `version` has the newer of two versions
// (RB2, RB3).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, PUBLIC_SOCKET } from '../../support/native-frames.ts';
import { modelEntry, turnBody } from '../../support/rehearsal-replies.ts';
import { BACKEND_MODELS } from '../../support/stages/model-lists.ts';
import { connect } from '../../support/websocket.ts';

const OPERATOR = {
  version: '0.160.0',
  originator: 'agent_exec',
  'user-agent': 'agent_exec/0.160.0 (Debian 12; x86_64) unknown (agent_exec; 0.160.0)',
};
const agentOf = (version: string): string => OPERATOR['user-agent'].replaceAll('0.160.0', version);
const clientOf = (version: string): Record<string, string> => ({
  originator: 'agent_tui',
  'user-agent': `agent_tui/${version} (Arch; x86_64)`,
});

const NATIVE = '/backend-api/agent/responses';

const start = (headers: Record<string, string>, requiredHeaders = ['originator', 'user-agent']): Promise<TestGateway> =>
  startGateway({
    upstream: {
      accounts: [{ id: 'north', requiredHeaders }],
      models: [modelEntry({ slug: 'model-a', minimal_client_version: '0.150.0' })],
    },
    config: (draft) => {
      draft.accounts[0].headers = headers;
    },
  });

const CASES: readonly (readonly [string, Record<string, string>, string])[] = [
  ['no version of the client', {}, '0.160.0'],
  ['an older client', clientOf('0.155.0'), '0.160.0'],
  ['a newer client', clientOf('0.171.2'), '0.171.2'],
  ['a newer client that states a header too', { ...clientOf('0.170.0'), version: '0.170.0-alpha.3' }, '0.170.0-alpha.3'],
  ['a client with a malformed version', { version: 'newest' }, '0.160.0'],
];

test('[RB2] `version` is the newer of the operator’s and the client’s, with the same number in the user agent', async () => {
  await using gate = await start(OPERATOR);
  for (const [name, headers, version] of CASES) {
    gate.upstream.clear();
    assert.equal((await gate.send(NATIVE, { body: turnBody('hi'), headers })).status, 200, name);
    using socket = await connect(gate, NATIVE_SOCKET, { headers });
    await socket.turn(frameOf('hi'));
    const [turn] = gate.upstream.turns();
    const [upgrade] = gate.upstream.upgrades();
    for (const sent of [turn?.headers, upgrade?.headers]) {
      assert.deepEqual([sent?.version, sent?.['user-agent'], sent?.originator], [version, agentOf(version), 'agent_exec'], name);
    }
  }
});

test('[RB2] versions that clients of the compatible surface state are ignored: they are those of other programs', async () => {
  await using gate = await start(OPERATOR);
  const headers = { version: '9.9.9', 'user-agent': 'OpenAI/JS 9.9.9' };
  assert.equal((await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hi' }, headers })).status, 200);
  using socket = await connect(gate, PUBLIC_SOCKET, { headers });
  await socket.turn(frameOf('hi'));
  for (const { headers: sent } of [...gate.upstream.turns(), ...gate.upstream.upgrades()]) {
    assert.deepEqual([sent.version, sent['user-agent']], ['0.160.0', OPERATOR['user-agent']]);
  }
});

test('[RB2] without headers of the operator a native client’s version is sent as it states it', async () => {
  await using gate = await start({}, []);
  assert.equal((await gate.send(NATIVE, { body: turnBody('hi'), headers: clientOf('0.169.0') })).status, 200);
  const [turn] = gate.upstream.turns();
  assert.deepEqual([turn?.headers.version, turn?.headers['user-agent']], ['0.169.0', clientOf('0.169.0')['user-agent']]);
});

test('[RB3] own reads send what the headers of the account say, unchanged', async () => {
  await using gate = await start(OPERATOR);
  const read = gate.upstream.requests().find(({ path }) => path === BACKEND_MODELS);
  assert.deepEqual(
    [read?.headers.version, read?.headers['user-agent'], read?.headers.originator],
    Object.values({ v: OPERATOR.version, u: OPERATOR['user-agent'], o: OPERATOR.originator }),
  );
});

test('[RB3] without the headers the account answers with a page: no client sees it, and its state says so', async () => {
  await using gate = await start({});
  const listed = (await (await fetch(`${gate.adminUrl}/api/status`)).json()) as {
    catalogs: { failure: string }[];
    accounts: { status: string }[];
  };
  assert.deepEqual([listed.catalogs[0]?.failure, listed.accounts[0]?.status], ['challenge_page', 'active']);
});
