// `explain` of a key and a model, from the file alone and from the running gateway; `explain --turn` of a logged turn.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { stringify } from 'yaml';
import { turnLines } from '../../../proxy/cli/text/explanation-text.ts';
import { fileWith } from '../../config/files.ts';
import { type Draft, startGateway, type TestGateway } from '../../support/gateway.ts';
import { modelEntry } from '../../support/rehearsal-replies.ts';
import { poolgate } from '../run.ts';

const digest = (secret: string): string => hash('sha256', secret, 'hex');

/** A file with one example of each case that an explanation covers; no gateway runs on it. */
const FILE: Draft = {
  admin: false,
  accounts: ['north', 'south', 'hidden'].map((id) => ({ id, base_url: 'rehearsal:', visible: id !== 'hidden' })),
  pools: [
    {
      id: 'team',
      serving_modes: { 'model-b': 'full' },
      models: { gone: { suppressed: true } },
      assignments: [{ account: 'north' }, { account: 'south', eligible: false }, { account: 'hidden' }],
    },
    { id: 'other', assignments: [{ account: 'south' }] },
  ],
  keys: [
    {
      id: 'ci',
      pool: 'team',
      secret_sha256: [digest('ci')],
      models: ['model-a', 'model-b', 'gone'],
      reasoning_effort: { allow_up_to: 'high' },
      output_tokens: { max: 100 },
    },
    { id: 'paused', pool: 'team', secret_sha256: [digest('paused')], status: 'paused' },
  ],
};

async function explained(context: TestContext, file: Draft, ...args: readonly string[]) {
  const path = fileWith(context, stringify(file));
  const { code, out, err } = await poolgate(['explain', 'POST', '/v1/responses', ...args, '--json', '--config', path]);
  assert.equal(code, 0, err + out);
  return JSON.parse(out);
}

test('without a gateway, explain uses only the file and marks what only a gateway can state', async (context) => {
  const { known, turns } = await explained(context, FILE, '--key', 'ci', '--model', 'model-a');
  assert.match(known, /^from the file alone: /);
  const [turn, ...others] = turns;
  assert.equal(others.length, 0);
  assert.deepEqual([turn.pool, turn.key, turn.model, turn.refused], ['team', 'ci', 'model-a', null]);
  assert.deepEqual([turn.mode.configured, turn.mode.effective, turn.mode.source], ['auto', null, null]);
  assert.deepEqual(
    turn.accounts.map(({ account, takes, why }: Record<string, string>) => [account, takes, why]),
    [
      ['north', 'unknown', 'its catalog and its health are known to the running gateway'],
      ['south', 'no', 'its assignment is not eligible'],
      ['hidden', 'no', 'the account is not visible'],
    ],
  );
  assert.equal(turn.rules['effort-policy'], 'permits efforts up to high');
  assert.equal(turn.rules['output-tokens'], 'caps output at 100 tokens');
});

test('a mode of the file is explained with its source, and with the rules that do not apply in it', async (context) => {
  const { turns } = await explained(context, FILE, '--key', 'ci', '--model', 'model-b');
  const { mode, rules } = turns[0];
  assert.deepEqual([mode.configured, mode.effective, mode.source], ['full', 'full', 'override']);
  assert.equal(rules['lite-rewrite'], 'does nothing: the mode is Full');
  assert.match(rules['full-rejection'], /explicit Full/);
});

for (const [name, args, refused] of [
  ['a model outside the list of the key', ['--key', 'ci', '--model', 'model-z'], /^403 model_not_allowed: /],
  ['a suppressed model', ['--key', 'ci', '--model', 'gone'], /^400 invalid_model: gone is suppressed/],
  ['a paused key', ['--key', 'paused', '--model', 'model-a'], /^401 api_key_disabled: /],
] as const) {
  test(`explain reports the refusal of ${name}`, async (context) => {
    assert.match((await explained(context, FILE, ...args)).turns[0].refused, refused);
  });
}

test('a model without a key is explained for every Pool, a key without a model for its own', async (context) => {
  const model = await explained(context, FILE, '--model', 'model-a');
  assert.deepEqual(
    model.turns.map(({ pool, key }: Record<string, string>) => [pool, key]),
    [
      ['team', null],
      ['other', null],
    ],
  );
  const [key] = (await explained(context, FILE, '--key', 'ci')).turns;
  assert.deepEqual([key.model, key.mode, key.rules['model-access']], [null, null, 'allows: model-a, model-b, gone']);
});

test('an unknown key is an error with the nearest id', async (context) => {
  const path = fileWith(context, stringify(FILE));
  const { code, err } = await poolgate(['explain', 'POST', '/v1/responses', '--key', 'cii', '--config', path]);
  assert.deepEqual([code, err], [1, "there is no key 'cii'; did you mean 'ci'?\n"]);
});

test('the text has mode, accounts and reasons, and the effect of each rule on its line', async (context) => {
  const path = fileWith(context, stringify(FILE));
  const { out } = await poolgate(['explain', 'POST', '/v1/responses', '--key', 'ci', '--model', 'model-b', '--config', path]);
  assert.match(out, /\n {2}Pool team, key ci, model model-b:\n/);
  assert.match(out, /\n {4}mode {6}full is configured: full by override, since serving_modes of Pool team says full/);
  assert.match(out, /\n {6}south {3}no: its assignment is not eligible\n/);
  assert.match(out, /\n {4}output-tokens +request attempt +caps output at 100 tokens\n/);
});

const window = (tokens: number) => ({ context_window: tokens, max_context_window: tokens });

async function running(context: TestContext): Promise<TestGateway> {
  const gate = await startGateway({
    upstream: {
      accounts: [
        { id: 'north', models: [modelEntry({ slug: 'model-a', ...window(1000) })] },
        { id: 'south', models: [modelEntry({ slug: 'model-a', use_responses_lite: true, ...window(1000) })] },
        { id: 'wide', models: [modelEntry({ slug: 'model-a', ...window(2000) })] },
        { id: 'narrow', models: [modelEntry({ slug: 'model-a', ...window(500) })] },
        { id: 'empty', models: [modelEntry({ slug: 'model-b' })] },
      ],
    },
    config: (draft: Draft) => {
      draft.keys[0].reasoning_effort = { allow_up_to: 'medium' };
    },
  });
  context.after(() => gate.close());
  return gate;
}

/** Runs the command on a file with the address of this gateway's admin listener. */
function asked(context: TestContext, gate: TestGateway, model: string) {
  const file = { ...FILE, admin: { port: Number(new URL(gate.adminUrl).port) } };
  return explained(context, file, '--key', 'ci', '--model', model);
}

test('with a gateway, explain has the effective mode, its source, and the place of every account', async (context) => {
  const gate = await running(context);
  const { known, turns } = await asked(context, gate, 'model-a');
  assert.equal(known, 'by the running gateway, whose configuration is not this file: see poolgate diff');
  const [turn] = turns;
  assert.deepEqual(turn.mode, { configured: 'auto', effective: 'lite', source: 'catalog', why: 'south reports Lite' });
  assert.deepEqual(
    turn.accounts.map(({ account, takes }: Record<string, string>) => `${account}: ${takes}`),
    ['north: first', 'south: first', 'wide: overflow', 'narrow: pinned', 'empty: no'],
  );
  assert.equal(turn.accounts[4].why, 'it does not list model-a');
  assert.equal(turn.rules['effort-policy'], 'permits low, medium; an omitted effort becomes medium');
  assert.equal(turn.rules['lite-rewrite'], 'moves tools and instructions into input');
  assert.equal(gate.upstream.turns().length, 0, 'nothing was asked of an account for it');
});

test('explain names the account that the next turn would go to, by the strategy or by the session that --session names', async (context) => {
  const gate = await running(context);
  const file = { ...FILE, admin: { port: Number(new URL(gate.adminUrl).port) } };
  const ask = async (...args: readonly string[]) => (await explained(context, file, '--key', 'ci', '--model', 'model-a', ...args)).turns[0];
  const first = await ask();
  assert.deepEqual([first.choice.account, first.choice.reason], ['north', 'fill_first']);
  gate.upstream.next('north', 'refuse 503');
  await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hi' }, headers: { 'x-agent-window-id': 'thread-1:0' } });
  const { choice } = await ask('--session', 'thread-1:7');
  assert.deepEqual(choice, { account: 'south', tied: [], reason: 'soft_pin', why: 'its session went there last' });
  assert.match((await ask('--session', 'thread-2')).choice.why, /^its session is not known; fill_first scores it highest/);
  const path = fileWith(context, stringify(file));
  const { out } = await poolgate([
    'explain',
    'POST',
    '/v1/responses',
    '--key',
    'ci',
    '--model',
    'model-a',
    '--session',
    'thread-1',
    '--config',
    path,
  ]);
  assert.match(out, /\n {4}choice {4}south: its session went there last\n/);
});

test('accounts that the strategy scores the same are tied, and a turn waits where all are at their maximum', async (context) => {
  await using gate = await startGateway({
    config: (draft) => {
      draft.pools[0].strategy = 'least_loaded';
      for (const account of draft.accounts) account.max_concurrent = 1;
    },
  });
  const file = { ...FILE, admin: { port: Number(new URL(gate.adminUrl).port) } };
  const ask = async () => (await explained(context, file, '--key', 'ci', '--model', 'model-a')).turns[0];
  const idle = await ask();
  assert.deepEqual([idle.choice.account, idle.choice.tied], ['north', ['south']]);
  assert.match(idle.choice.why, /^least_loaded scores 2 accounts the same; a turn that continues a conversation goes where/);
  for (const account of ['north', 'south']) gate.upstream.next(account, 'stall before headers');
  const turns = [1, 2].map(() => gate.send('/v1/responses', { body: { model: 'model-a', input: 'hi' } }));
  await Promise.all(['north', 'south'].map((account) => gate.upstream.stalled(account)));
  const { choice, accounts } = await ask();
  assert.deepEqual(
    [choice.account, choice.why],
    [null, 'every account that could take it is at its max_concurrent: the turn waits for one'],
  );
  assert.equal(accounts[0].why, 'it is at its max_concurrent');
  gate.upstream.release();
  await Promise.all(turns);
});

test('an account in cooldown is explained, and a model without a routable source', async (context) => {
  const gate = await running(context);
  gate.upstream.next('empty', 'refuse 429 retry 90');
  await gate.send('/v1/responses', { body: { model: 'model-b', input: 'hi' } });
  gate.upstream.next('south', 'refuse 429 usage_limit_reached resets 90');
  await gate.reconfigure((draft) => {
    draft.pools[0].strategy = 'fill_first';
    draft.pools[0].assignments = ['south', 'north', 'wide', 'narrow', 'empty'].map((account) => ({ account, active: account !== 'empty' }));
  });
  await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hi' } });
  const [cooling] = (await asked(context, gate, 'model-a')).turns;
  assert.match(cooling.accounts[0].why, /^its quota is exhausted, for \d+ s$/);
  const [without] = (await asked(context, gate, 'model-b')).turns;
  assert.deepEqual([without.refused, without.mode.effective], ['503 no_eligible_account: no source is routable', null]);
  assert.deepEqual(turnLines(without)[2], '    mode      auto is configured, not resolved: no source is routable');
  assert.equal(without.accounts[4].why, 'its assignment is not active');
});

test('GET /api/explain answers 404 for unknown routes and keys', async (context) => {
  const gate = await running(context);
  const ask = async (query: string) => {
    const response = await fetch(`${gate.adminUrl}/api/explain?${query}`);
    return [response.status, ((await response.json()) as { error?: string }).error];
  };
  assert.deepEqual(await ask('method=POST&path=/v1/nowhere&key=ci'), [404, 'no such route']);
  assert.deepEqual(await ask('method=POST&path=/v1/responses&key=nobody'), [404, 'no such key']);
  assert.deepEqual(await ask('method=POST&path=/v1/responses&key=ci&model=model-a'), [200, undefined]);
});

test('explain --turn reports each attempt of a failover with its cause and answer', async (context) => {
  await using gate = await startGateway();
  gate.upstream.next('north', 'refuse 503');
  const reply = await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hello' } });
  const id = reply.headers.get('x-request-id') ?? '';
  const port = Number(new URL(gate.adminUrl).port);
  const file = fileWith(context, stringify({ admin: { port }, accounts: [], pools: [], keys: [] }));
  const { code, out, err } = await poolgate(['explain', '--turn', id, '--config', file]);
  assert.equal(code, 0, err);
  assert.match(out, new RegExp(`^${id}\n`));
  assert.match(out, / {2}answer {3}completed, 200\n/);
  assert.match(out, / {2}account {2}SOUTH\n {2}why {6}\w+\n {2}others {3}1 tried\n/);
  assert.match(out, / {4}NORTH {2}as first: status 503, upstream_status, \d+ ms\n {4}SOUTH {2}as \w+: status 200, \d+ ms\n/);

  const asJson = JSON.parse((await poolgate(['explain', '--turn', id, '--json', '--config', file])).out);
  assert.deepEqual([asJson.turn.id, asJson.attempts.length], [id, 2]);

  const unknown = await poolgate(['explain', '--turn', 'req_nobody', '--config', file]);
  assert.deepEqual([unknown.code, unknown.err], [1, "the request log has no turn 'req_nobody'\n"]);
  assert.equal((await poolgate(['explain', '--config', file])).code, 2);
});

test('explain --turn reports the model that the client named, and the tier to which the turn overflowed', async (context) => {
  await using gate = await startGateway({
    config: (draft) => {
      draft.pools[0].assignments = [{ account: 'north' }, { account: 'south', tier: 1 }];
      draft.pools[0].models = { 'model-a': { fallback: ['model-b'] } };
    },
  });
  for (const account of ['north', 'south']) gate.upstream.next(account, 'refuse 400 model_not_found');
  gate.upstream.next('north', 'refuse 429 usage_limit_reached resets 600');
  const reply = await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hello' } });
  const port = Number(new URL(gate.adminUrl).port);
  const file = fileWith(context, stringify({ admin: { port }, accounts: [], pools: [], keys: [] }));
  const { out } = await poolgate(['explain', '--turn', reply.headers.get('x-request-id') ?? '', '--config', file]);
  assert.match(out, /^ {2}model {4}model-b, for model-a$/m);
  assert.match(out, /^ {2}account {2}SOUTH\n {2}overflow tier 1: lower tiers were quota$/m);
});

test('explain --turn reports what request compression saved of which outputs', async (context) => {
  await using gate = await startGateway({
    config: (draft) => {
      draft.pools[0].request_compression_enabled = true;
    },
  });
  const port = Number(new URL(gate.adminUrl).port);
  const file = fileWith(context, stringify({ admin: { port }, accounts: [], pools: [], keys: [] }));
  const outputs = async (...said: readonly string[]): Promise<string | undefined> => {
    const input = said.flatMap((output, i) => [
      { type: 'function_call', call_id: `c${i}`, name: i === 0 ? 'shell' : 'Read', arguments: '{}' },
      { type: 'function_call_output', call_id: `c${i}`, output },
    ]);
    const reply = await gate.send('/v1/responses', { body: { model: 'model-a', input } });
    const { out } = await poolgate(['explain', '--turn', reply.headers.get('x-request-id') ?? '', '--config', file]);
    return /^ {2}outputs {2}(.*)$/m.exec(out)?.[1];
  };
  const found = 'packages/server/src/session.ts:5: open()\n'.repeat(40);
  assert.match((await outputs(found, found)) ?? '', /^1 of 2 compressed, \d+ (bytes|tokens) saved \(\d+(\.\d)? %\), 1 protected$/);
  assert.match((await outputs('x'.repeat(1_048_576))) ?? '', /^not compressed: the body has \d+ bytes$/);
  assert.equal(await outputs('done'), undefined);
});

const MESSAGES: Draft = {
  ...FILE,
  pools: FILE.pools.map((pool: Draft) => ({ ...pool, aliases: { 'claude-haiku-*': 'model-b', 'claude-*': 'model-a' } })),
};

test('[AM69] explain POST /v1/messages prints the chain, and the alias that resolved the name of a model', async (context) => {
  const path = fileWith(context, stringify(MESSAGES));
  const of = async (model: string, ...more: readonly string[]) =>
    (await poolgate(['explain', 'POST', '/v1/messages', '--key', 'ci', '--model', model, ...more, '--config', path])).out;
  const out = await of('claude-opus-5-5[1m]');
  assert.match(out, /^POST \/v1\/messages\n {2}status {4}translated\n/);
  assert.match(out, /\n {2}kind {6}messages\n/);
  assert.match(out, /\n {2}upstream {2}\/backend-api\/agent\/responses\n/);
  assert.match(out, /\n {2}Pool team, key ci, model model-a by the alias claude-\*:\n/);
  const chain = [...(out.split('rules in order, with their phases:\n')[1] ?? '').matchAll(/^ {4}(\S+) /gm)].map(([, rule]) => rule);
  const { rules } = JSON.parse(await of('claude-opus-5-5', '--json'));
  assert.deepEqual(
    chain,
    rules.map(({ rule }: { readonly rule: string }) => rule),
  );
  assert.ok(chain.indexOf('authenticate') < chain.indexOf('model-access') && chain.includes('effort-policy'), chain.join(' '));
  assert.match(await of('claude-haiku-4-5'), /, model model-b by the alias claude-haiku-\*:\n/);
  assert.match(await of('model-a'), /, model model-a:\n/);
});

test('[AM69] the running gateway names the alias too, and an exposed id goes before one', async (context) => {
  const gate = await startGateway({
    config: (draft: Draft) => {
      draft.pools[0].aliases = { 'claude-*': 'model-a', 'model-*': 'model-b' };
    },
  });
  context.after(() => gate.close());
  for (const [model, id, alias] of [
    ['claude-opus-5-5', 'model-a', 'claude-*'],
    ['model-z', 'model-b', 'model-*'],
    ['model-a', 'model-a', null],
  ]) {
    const query = new URLSearchParams({ method: 'POST', path: '/v1/messages', model: String(model) });
    const { turns } = (await (await fetch(`${gate.adminUrl}/api/explain?${query}`)).json()) as Draft;
    assert.deepEqual([turns[0].model, turns[0].alias], [id, alias], String(model));
  }
});
