// `account test` against a running gateway with simulated accounts of each API, and without one (AA87).
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { parse } from 'yaml';
import { poolgate, type Ran } from '../../cli/run.ts';
import { fileWith, SMALL } from '../../config/files.ts';
import { answers, startPlatform } from '../../providers/responses/platform.ts';
import { bearerOf, type Draft, startGateway, type TestGateway } from '../../support/gateway.ts';
import { selfSigned } from '../../support/network/certificate.ts';
import { httpProxy } from '../../support/network/proxies.ts';

interface Tried {
  readonly gate: TestGateway;
  readonly run: (...args: readonly string[]) => Promise<Ran>;
}

const simulated = (id: string, api: 'chat' | 'responses', address: string, more: Draft = {}): Draft => ({
  id,
  label: id,
  api,
  base_url: `rehearsal:${api}${address}`,
  ...more,
});

/** Starts a gateway with an agent account and these accounts, and runs the command on its file. */
const tried = (context: TestContext, ...accounts: readonly Draft[]): Promise<Tried> =>
  triedWith(context, (draft) => draft.accounts.push(...accounts));

async function triedWith(context: TestContext, edit: (draft: Draft) => void): Promise<Tried> {
  let file: Draft = {};
  const gate = await startGateway({
    upstream: { accounts: ['north'] },
    config: (draft) => {
      edit(draft);
      draft.pools[0].assignments = draft.accounts.map(({ id }: Draft) => ({ account: id }));
      file = draft;
    },
  });
  context.after(() => gate.close());
  const path = fileWith(context, JSON.stringify({ ...file, admin: { port: Number(new URL(gate.adminUrl).port) } }));
  return { gate, run: (...args) => poolgate(['account', 'test', ...args, '--config', path], { BEARER_NORTH: bearerOf('north') }) };
}

// biome-ignore lint/suspicious/noExplicitAny: assertions look where they expect something
const jsonOf = ({ out }: Ran): any => JSON.parse(out);

for (const [address, line] of [
  ['+think_tags=true', 'think_tags: true'],
  ['+usage_excludes_reasoning=true', 'usage_excludes_reasoning: true'],
] as const) {
  test(`[AA87] a chat account with ${address} answers, and is misread: the line ${line}, which helps`, async (context) => {
    const [name = ''] = line.split(': ');
    const served = () => ({
      catalog: [{ id: 'model-a', reasoning_levels: ['low', 'high'], default_level: 'high' }],
      read_models: 'declared',
    });
    const mended = simulated('mended', 'chat', address, { ...served(), quirks: { [name]: true } });
    const { run } = await tried(context, simulated('box', 'chat', address, served()), mended);
    const misread = await run('box');
    assert.equal(misread.code, 0, misread.out);
    assert.ok(misread.out.includes(`           quirks:\n             ${line}\n`), misread.out);
    assert.ok(misread.out.endsWith(`account 'box' works, but its answers are misread: add quirks: { ${line} }\n`), misread.out);
    const right = await run('mended');
    assert.ok(right.out.endsWith("account 'mended' works\n"), right.out);
  });
}

for (const [api, address, args, line] of [
  ['chat', '+stream_options=false', [], 'stream_options: false'],
  ['chat', '+max_tokens=max_tokens', [], 'max_tokens: max_tokens'],
  ['chat', '+developer_role=false', [], 'developer_role: false'],
  ['chat', '+late_system=merge', [], 'late_system: merge'],
  ['chat', '+parallel_tool_calls=false', ['--tools'], 'parallel_tool_calls: false'],
  ['chat', '+strict=false', ['--tools'], 'strict: false'],
  ['chat', '+tool_choice_named=false', ['--tools'], 'tool_choice_named: false'],
  ['chat', '+tool_choice_required=false', ['--tools'], 'tool_choice_required: false'],
  ['chat', '+assistant_after_tool=true', ['--tools'], 'assistant_after_tool: true'],
  ['chat', '+tool_result_name=true', ['--tools'], 'tool_result_name: true'],
  ['chat', '+stream=without_tools', ['--tools'], 'stream: without_tools'],
  ['chat', '+stream=never', [], 'stream: never'],
  ['responses', '+text_format=required', [], 'text_format: required'],
  ['responses', '+parallel_tool_calls=false', ['--tools'], 'parallel_tool_calls: false'],
  ['responses', '+strict=false', ['--tools'], 'strict: false'],
  ['responses', '+tool_choice_named=false', ['--tools'], 'tool_choice_named: false'],
] as const) {
  test(`[AA87] a ${api} account that refuses what ${address} denies: the line ${line}, which helps`, async (context) => {
    const [name = '', value = ''] = line.split(': ');
    const quirks = { [name]: value === 'true' || value === 'false' ? value === 'true' : value };
    const { gate, run } = await tried(context, simulated('box', api, address), simulated('mended', api, address, { quirks }));
    const refused = await run('box', ...args);
    assert.equal(refused.code, 1, refused.out);
    assert.match(refused.out, /^problem turn over http|^problem tool result over http/m);
    assert.ok(refused.out.includes(`           quirks:\n             ${line}\n`), refused.out);
    assert.ok(refused.out.endsWith(`account 'box' refuses what it was sent: add quirks: { ${line} }\n`), refused.out);
    const mended = await run('mended', ...args);
    assert.ok(!mended.out.includes(line), mended.out);
    assert.equal(mended.code, 0, mended.out);
    assert.equal(gate.account('box').status, 'active', 'its health does not change');
  });
}

test('[AA87] the most that it costs, the steps with their times, and the usage; one audit row, and no row of a turn', async (context) => {
  const prices = { input: 1000, cached_input: 100, output: 10_000 };
  const { gate, run } = await tried(
    context,
    simulated('box', 'chat', '', { catalog: [{ id: 'model-a', prices }], read_models: 'declared' }),
  );
  const { code, out, err } = await run('box', '--model', 'model-a', '--tools');
  assert.deepEqual([code, err], [0, ''], out);
  assert.match(out, /^account 'box' is sent a turn of model-a over http, for at most 0\.\d{6} USD\n/);
  assert.match(out, /^ok {6}credential: none is configured/m);
  assert.match(
    out,
    /^ok {6}turn over http: completed \(\d+ ms, the first event after \d+ ms\)\n {8}usage: \d+ input, 0 of them cached, \d+ output/m,
  );
  assert.match(out, /^ok {6}tool result over http: /m);
  assert.ok(out.endsWith("account 'box' works\n"));
  const rows = await gate.audit('account.test');
  assert.deepEqual(
    rows.map(({ actor, target, fields }) => [actor, target, fields]),
    [['command', 'box', []]],
  );
  assert.deepEqual(await gate.rows(), [], 'it leaves no row of the request log');
  const { plan, steps, ok } = jsonOf(await run('box', '--json'));
  assert.deepEqual([ok, plan.api, plan.over], [true, 'chat', ['http']]);
  const turn = steps.find(({ step }: { step: string }) => step === 'turn');
  assert.ok(turn.usage.output_tokens <= 16 && turn.first_event_ms !== null);
});

test('[AA87] an agent account is sent a turn over HTTP and over its websocket; nothing of the test reaches limits or health', async (context) => {
  const { gate, run } = await tried(context);
  const { code, out } = await run('north');
  assert.equal(code, 0, out);
  assert.match(out, /^ok {6}models: \d+ models/m);
  assert.match(out, /^ok {6}turn over http: /m);
  assert.match(out, /^ok {6}turn over websocket: /m);
  assert.equal(gate.upstream.turns().length, 2);
});

test('[AA87] a refused credential and a rate limit have their class, and the account stays as it was', async (context) => {
  const { gate, run } = await tried(context);
  gate.upstream.next('north', 'refuse 429');
  const limited = jsonOf(await run('north', '--json'));
  const [first] = limited.steps.filter(({ step }: { step: string }) => step === 'turn');
  assert.deepEqual([limited.ok, first.ok, first.failure.class, first.failure.status], [false, false, 'rate', 429]);
  gate.upstream.next('north', 'refuse 401');
  const refused = await run('north');
  assert.equal(refused.code, 1);
  assert.match(refused.out, /^problem turn over http: credential \(401/m);
  assert.match(
    refused.out,
    /account 'north' does not work \(turn over http: credential, 401 \w+\)\. Set BEARER_NORTH to a valid secret and start the gateway again, then run `poolgate account relogin north`\.\n$/,
  );
  assert.deepEqual([gate.account('north').status, gate.account('north').cooldown], ['active', undefined]);
});

test('[AA87] without a turn the models are read; wrong usage and unknown names are reported', async (context) => {
  const { gate, run } = await tried(context, simulated('box', 'chat', ''));
  const { code, out } = await run('box', '--no-turn');
  assert.equal(code, 0, out);
  assert.match(out, /^ok {6}models: \d+ models/m);
  assert.doesNotMatch(out, /turn over/);
  assert.equal(gate.upstream.turns().length, 0);
  assert.deepEqual([(await run('box', '--no-turn', '--tools')).code, (await run('box', '--nope')).code], [2, 2]);
  assert.equal((await run('bxo')).err, "there is no account 'bxo'; did you mean 'box'?\n");
  assert.equal((await run('box', '--model', 'no-such')).err, "account 'box' has no model 'no-such'\n");
});

test('[AA8] [AA87] a list that is too large for the gateway is a problem, although the account answers it', async (context) => {
  const platform = await startPlatform();
  context.after(() => platform.close());
  const model = { id: 'own-a', object: 'model', description: 'x'.repeat(5_000_000) };
  platform.reading.set('/v1/models', answers(200, { object: 'list', data: [model] }));
  const box = { id: 'box', label: 'box', api: 'responses', base_url: platform.url, credential: 'none' };
  const { run } = await tried(context, box);
  const { code, out } = await run('box', '--no-turn');
  assert.equal(code, 1, out);
  assert.match(out, /^problem +models: /m);
});

test('[AA87] without a running gateway it reads the models by itself, and says that the turn needs one', async (context) => {
  const { gate, run } = await tried(context);
  await gate.stop();
  const { code, out } = await run('north');
  assert.equal(code, 1);
  assert.match(out, /^ok +credential: it can be read .*\nok +models: \d+ models \(model-a, /m);
  assert.match(out, /^no gateway runs, and the rest is not tested: start it \(poolgate serve\), then run the command again\n$/m);
  const alone = await run('north', '--no-turn');
  assert.equal(alone.code, 0);
  assert.match(alone.out, /account 'north' works as far as this goes: no turn was sent\n$/);
});

/** Wrong settings of the agent account `north`, or a failure of its provider, each with the end of the command's output. */
const WRONG: Readonly<Record<string, { readonly account?: Draft; readonly fail?: (gate: TestGateway) => void; readonly says: RegExp }>> = {
  'a name that does not resolve': {
    account: { base_url: 'https://nowhere.invalid' },
    says: /cannot be reached: The host of https:\/\/nowhere\.invalid \(north\) has no address \(.+\)\. Correct the address in config\.yaml, or the name servers/,
  },
  'an address without a listener': {
    account: { base_url: 'https://127.0.0.1:1' },
    says: /cannot be reached: https:\S+ \(north\) cannot be connected to \(ECONNREFUSED\)\. Nothing listens there/,
  },
  'a list of models that is not there': {
    fail: ({ upstream }) => upstream.nextOn('north', '/backend-api/agent/models', 'refuse 404', 'refuse 404'),
    says: /does not work \(models: status, 404\)\. Correct base_url, or the words of `wire`/,
  },
  'a refused credential': {
    fail: ({ upstream }) => upstream.nextOn('north', '/backend-api/agent/models', 'refuse 401', 'refuse 401'),
    says: /does not work \(models: credential, 401\)\. Set BEARER_NORTH to a valid secret and start the gateway again/,
  },
  'a websocket that is refused': {
    fail: ({ upstream }) => upstream.nextUpgrade('north', 'refuse upgrade 404'),
    says: /does not work \(turn over websocket: no_websocket, 404\)\. It takes no websocket there: add `websocket: false` to the account/,
  },
  'a provider that fails': {
    fail: ({ upstream }) => upstream.next('north', 'refuse 503'),
    says: /does not work \(turn over http: server, 503.*\)\. The server failed/,
  },
};

for (const [what, { account = {}, fail, says }] of Object.entries(WRONG)) {
  test(`[AA87] the first thing that is wrong, and what to change: ${what}`, async (context) => {
    const { gate, run } = await triedWith(context, (draft) => Object.assign(draft.accounts[0], account));
    fail?.(gate);
    const { code, out } = await run('north');
    assert.equal(code, 1);
    assert.match(out.trimEnd().split('\n').at(-1) ?? '', says, out);
  });
}

test('[AA87] a certificate of an unknown authority is named, with the setting for its file', async (context) => {
  const pair = selfSigned({ host: 'localhost', from: new Date(Date.now() - 60_000), until: new Date(Date.now() + 3_600_000) });
  const server = createServer(pair, (_, response) => void response.writeHead(404).end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  await using proxy = await httpProxy();
  const account = { id: 'north', base_url: `https://localhost:${port}`, credential: { bearer: { env: 'BEARER_NORTH' } } };
  for (const more of [{}, { proxy: { url: `http://127.0.0.1:${proxy.port}` }, base_url: `https://127.0.0.1:${port}` }]) {
    const draft = { ...parse(SMALL), accounts: [{ ...account, ...more }], admin: false };
    const ran = await poolgate(['account', 'test', 'north', '--config', fileWith(context, JSON.stringify(draft))], {
      BEARER_NORTH: 'secret',
    });
    assert.equal(ran.code, 1);
    const end = ran.out.trimEnd().split('\n').at(-1) ?? '';
    assert.match(
      end,
      /cannot be reached: The certificate of https:\S+ is not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\)\. .*tls\.ca of the account/,
      ran.out,
    );
  }
});
