// If an account refuses a read of its model list, every page that operators see names the cause (RB1, RB3).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { challengePage } from '../../../proxy/rehearsal/account/simulated-catalog.ts';
import { poolgate } from '../../cli/run.ts';
import { fileAt } from '../../config/files.ts';
import { doctor } from '../../doctor/support.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { call, withOperator } from '../../support/mcp.ts';
import type { Script } from '../../support/rehearsal.ts';
import { modelEntry, replyJson } from '../../support/rehearsal-replies.ts';
import { BACKEND_MODELS, catalogAnswer, publicModels, reread } from '../../support/stages/model-lists.ts';
import { until } from '../../support/until.ts';

const { status: guarded, headers, body } = challengePage();
const PAGE: Script = { kind: 'reply', status: guarded, headers, body: { text: body.kind === 'bytes' ? body.bytes.toString() : '' } };

const WITHOUT_VERSION = {
  error: { message: "[{'type': 'missing', 'loc': ('query', 'client_version')}]", type: 'invalid_request_error', param: null, code: null },
};
/** The form of a validation error as a list. */
const WITHOUT_VERSION_AS_LIST = { detail: [{ type: 'missing', loc: ['query', 'client_version'], msg: 'Field required' }] };

/** An answer, its cause, and the line of doctor about it. */
const REFUSALS: readonly (readonly [name: string, script: Script, cause: string, said: string, advice: RegExp])[] = [
  ['a challenge page', PAGE, 'challenge_page', 'a guard of the network answers with a challenge page', /`headers` of the account/],
  [
    '400 without client_version',
    replyJson(WITHOUT_VERSION, { status: 400 }),
    'client_version',
    'its provider does not accept the client version that was stated',
    /wire\.client_version/,
  ],
  [
    '422 without client_version',
    replyJson(WITHOUT_VERSION_AS_LIST, { status: 422 }),
    'client_version',
    'its provider does not accept the client version that was stated',
    /wire\.client_version/,
  ],
  ['401', 'refuse 401', 'credential', 'its provider refuses the credential', /credential/],
  ['403 in JSON', 'refuse 403', 'credential', 'its provider refuses the credential', /credential/],
  ['402', 'refuse 402', 'credential', 'its provider refuses the credential', /credential/],
  ['404', replyJson({ detail: 'Not Found' }, { status: 404 }), 'status', 'its provider refuses the request', /catalog_read_failed/],
  ['429', 'refuse 429', 'status', 'its provider refuses the request', /catalog_read_failed/],
  ['503', 'refuse 503', 'status', 'its provider refuses the request', /catalog_read_failed/],
  ['an answer without a list', catalogAnswer({ answer: 'none' }), 'malformed', 'the answer is not a list of models', /base_url/],
  ['a connection that breaks off', 'cut before headers', 'network', 'there is no connection to its provider, or it breaks off', /network/],
  ['no answer', 'stall before headers', 'timeout', 'its provider does not answer in time', /network/],
];

/** The account `north` lists no model, `south` one. */
async function started(clock = new ManualClock()): Promise<{ readonly gate: TestGateway; readonly clock: ManualClock }> {
  const gate = await startGateway({
    clock,
    upstream: {
      accounts: [
        { id: 'north', models: [] },
        { id: 'south', models: [modelEntry({ slug: 'model-a' })] },
      ],
    },
    config: withOperator,
  });
  return { gate, clock };
}

/** Makes the gateway read the list of `north` again; the read gets this answer. */
async function read(gate: TestGateway, clock: ManualClock, script: Script): Promise<void> {
  const before = gate.catalogs().find(({ account }) => account === 'north')?.reads ?? 0;
  const reading = reread(gate, { north: script });
  if (script === 'stall before headers') {
    await gate.upstream.stalled('north');
    await clock.advance(30_000);
  }
  await reading;
  // A reload does not wait for the list of an account that does not answer.
  await until('the end of the read', () => gate.catalogs().find(({ account }) => account === 'north')?.reads === before + 1 || undefined);
}

describe('[RB1] [RB3] a model list that is refused', () => {
  for (const [name, script, cause, said, advice] of REFUSALS) {
    test(`with ${name}: /status, doctor, status, /mcp and the metrics say ${cause}`, async (context) => {
      const { gate, clock } = await started();
      await using _ = gate;
      await read(gate, clock, script);

      const path = fileAt(context, gate);
      const { catalogs } = (await (await fetch(`${gate.adminUrl}/api/status`)).json()) as {
        catalogs: { account: string; failure?: string }[];
      };
      assert.deepEqual(
        catalogs.map(({ account, failure }) => [account, failure]),
        [
          ['north', cause],
          ['south', undefined],
        ],
      );
      const report = await doctor(path);
      const found = report.checks.find(({ message }) => message.includes('model list of account north')) ?? assert.fail(report.out);
      assert.deepEqual([found.level, found.message], ['problem', `The model list of account north cannot be read: ${said}.`]);
      assert.match(found.advice ?? '', advice);
      const { out: text } = await poolgate(['status', '--config', path]);
      assert.match(text, new RegExp(`^north +no models .*\\n(?: {40,}.*\\n)* {2}last read of its model list failed: ${cause}$`, 'm'));
      assert.match(text, /^team +fill_first +1 of 2: south$/m);

      const [north, south] = (await call(gate, 'list_accounts')).accounts;
      assert.deepEqual([north.state, north.cause, north.catalog.failure], ['no_models', cause, cause]);
      assert.deepEqual([south.state, south.cause, south.catalog.failure], ['available', null, null]);
      const { attention, accounts } = await call(gate, 'service_status');
      assert.ok(attention.includes(`account north serves no model: its model list could not be read (${cause})`), String(attention));
      assert.deepEqual(accounts, { available: 1, no_models: 1 });

      const metrics = await gate.metrics();
      assert.match(metrics, new RegExp(`^poolgate_account_model_list_failed\\{account="north",cause="${cause}"\\} 1$`, 'm'));
      assert.match(metrics, /^poolgate_account_state\{account="north",state="no_models"\} 1$/m);
      assert.match(metrics, /^poolgate_account_state\{account="north",state="active"\} 0$/m);
      assert.match(metrics, /^poolgate_account_state\{account="south",state="active"\} 1$/m);
      assert.equal(gate.account('north').status, 'active', 'a read says nothing about turns');
    });
  }

  test('is forgotten with the next list', async (context) => {
    const { gate, clock } = await started();
    await using _ = gate;
    await read(gate, clock, PAGE);
    await read(gate, clock, catalogAnswer({ models: [modelEntry({ slug: 'model-b' })] }));
    const [north] = (await call(gate, 'list_accounts')).accounts;
    assert.deepEqual([north.state, north.catalog.failure, north.catalog.models], ['available', null, 1]);
    assert.doesNotMatch((await doctor(fileAt(context, gate))).out, /model list/);
    assert.doesNotMatch(await gate.metrics(), /^poolgate_account_model_list_failed\{/m);
  });

  test('leaves an account with a former list available, and names the cause', async () => {
    const { gate, clock } = await started();
    await using _ = gate;
    await read(gate, clock, catalogAnswer({ models: [modelEntry({ slug: 'model-b' })] }));
    await read(gate, clock, PAGE);
    const [north] = (await call(gate, 'list_accounts')).accounts;
    assert.deepEqual(
      [north.state, north.catalog.failure, north.catalog.models, north.catalog.stale],
      ['available', 'challenge_page', 1, true],
    );
    assert.deepEqual([...(await publicModels(gate)).keys()], ['model-b', 'model-a']);
  });
});

test('[RB3] the state of an account whose turns get a challenge page is challenge_page, for /mcp, doctor and the metrics', async (context) => {
  const clock = new ManualClock();
  await using gate = await startGateway({ clock, config: withOperator });
  gate.upstream.next('north', PAGE);
  assert.equal((await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hi' } })).status, 200);
  const [north] = (await call(gate, 'list_accounts')).accounts;
  assert.deepEqual(
    [north.state, north.cause, north.until],
    ['challenge_page', 'challenge_page', new Date(clock.now() + 10_000).toISOString()],
  );
  const { attention } = await call(gate, 'service_status');
  assert.deepEqual(attention, ['account north gets a challenge page of the network instead of answers: check its headers']);
  const report = await doctor(fileAt(context, gate));
  assert.ok(
    report.of('gateway').includes('problem: A guard of the network answers the turns of account north with a challenge page.'),
    report.out,
  );
  const stateOf = async (state: string): Promise<string | undefined> =>
    new RegExp(`^poolgate_account_state\\{account="north",state="${state}"\\} (\\d)$`, 'm').exec(await gate.metrics())?.[1];
  assert.deepEqual([await stateOf('challenge_page'), await stateOf('active')], ['1', '0']);
  await clock.advance(10_000);
  assert.equal((await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hi' } })).status, 200);
  assert.deepEqual([await stateOf('challenge_page'), await stateOf('active')], ['0', '1']);
});

test('[RB41] doctor warns of a list over 1 MiB, and of one that takes over 2 s', async (context) => {
  const clock = new ManualClock();
  await using gate = await startGateway({ clock, upstream: { accounts: ['north'] } });
  const path = fileAt(context, gate);
  assert.doesNotMatch((await doctor(path)).out, /model list/);
  const large = Array.from({ length: 30 }, (_, i) => modelEntry({ slug: `model-${i}`, base_instructions: 'x'.repeat(40_000) }));
  await reread(gate, { north: catalogAnswer({ models: large }) });
  assert.match(
    (await doctor(path)).of('gateway').join('\n'),
    /^warning: The model list of account north has 1\.2 MiB; native clients of some versions ignore a list over 1 MiB\.$/m,
  );
  gate.upstream.nextOn('north', BACKEND_MODELS, 'stall before headers');
  const reading = gate.reconfigure(() => undefined);
  await gate.upstream.stalled('north');
  await clock.advance(2_500);
  gate.upstream.release('north');
  await reading;
  const { checks } = await doctor(path);
  const warning = checks.find(({ message }) => message.includes('took'));
  assert.deepEqual(
    [warning?.level, warning?.message],
    ['warning', 'The model list of account north took 2.5 s; native clients wait 5 s for the first one after a start.'],
  );
  assert.ok(!checks.some(({ message }) => message.includes('MiB;')), 'the next list is small again');
});
