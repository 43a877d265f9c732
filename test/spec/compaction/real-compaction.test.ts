// Compaction at real agent backends that have no compact path: the turn that detects it, what is remembered, and the forms of the answers.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Clock } from '../../../proxy/base/time/clock.ts';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { hostOf, isAgentBackend } from '../../../proxy/turn/wire/known-hosts.ts';
import { poolgate } from '../../cli/run.ts';
import { fileAt } from '../../config/files.ts';
import { ShiftedClock } from '../../support/clocks/shifted-clock.ts';
import { type Draft, type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { call, withOperator } from '../../support/mcp.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { freshDatabase } from '../../support/postgres/postgres.ts';
import { modelEntry, replyEvents, replyJson } from '../../support/rehearsal-replies.ts';

const ROUTE = '/backend-api/agent/responses/compact';
const TURNS = '/backend-api/agent/responses';
const PUBLIC = '/v1/responses';

const said = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] };
const NATIVE_BODY = { model: 'model-a', input: [said] };
const TRIGGER_BODY = { model: 'model-a', input: [said, { type: 'compaction_trigger' }] };

const GONE = replyJson({ detail: 'Not Found' }, { status: 404 });
const COMPACTED = {
  id: 'resp_1',
  object: 'response.compaction',
  created_at: 1,
  output: [{ id: 'cmp_1', type: 'compaction', encrypted_content: 'opaque' }],
  usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
};

const start = (config: (draft: Draft) => void = () => undefined, store?: string, clock?: Clock): Promise<TestGateway> =>
  startGateway({
    ...(clock ? { clock } : {}),
    upstream: { accounts: ['north', 'south'], models: [modelEntry({ slug: 'model-a' })], strict: false },
    config,
    ...(store === undefined ? {} : { store }),
  });

/** Account and path of every turn, in order. */
const asked = (gate: TestGateway): readonly string[] => gate.upstream.turns().map(({ account, path }) => `${account} ${path}`);

const ROUTES = [
  { name: 'the compact route', ask: (gate: TestGateway): Promise<Reply> => gate.send(ROUTE, { body: NATIVE_BODY }) },
  { name: 'an explicit trigger', ask: (gate: TestGateway): Promise<Reply> => gate.send(PUBLIC, { body: TRIGGER_BODY }) },
  {
    name: 'a streamed trigger',
    ask: (gate: TestGateway): Promise<Reply> => gate.send(PUBLIC, { body: { ...TRIGGER_BODY, stream: true } }),
  },
] as const;

function itemOf({ text, json }: Reply): JsonObject {
  const response = json ?? eventsOf(text).find(({ event }) => event === 'response.completed')?.data.response;
  return response.output[0];
}

const lastItem = (gate: TestGateway): Json => {
  const { json } = gate.upstream.turns().at(-1) ?? {};
  return ((json as JsonObject).input as readonly Json[]).at(-1) as Json;
};

describe('[RB33] [Q27] the compact path', () => {
  for (const { name, ask } of ROUTES) {
    for (const gone of [GONE, replyJson({ detail: 'Method Not Allowed' }, { status: 405 }), 'refuse 501'] as const) {
      const status = typeof gone === 'string' ? 501 : gone.status;
      test(`[RB33] that answers ${status} to ${name} is replaced by a trigger turn at once, at the same account and for good`, async () => {
        await using gate = await start();
        gate.upstream.next('north', gone);
        const first = await ask(gate);
        assert.equal(itemOf(first).type, 'compaction', first.text);
        assert.deepEqual(asked(gate), [`north ${ROUTE}`, `north ${TURNS}`]);
        assert.deepEqual(lastItem(gate), { type: 'compaction_trigger' });
        const row = await gate.row(first);
        assert.deepEqual([row?.retries, row?.account, row?.error_class], [1, 'NORTH', null]);
        assert.deepEqual(
          (await gate.attempts(row?.id ?? '')).map(({ cause, status: of }) => [cause, of]),
          [
            ['first', status],
            ['resend', 200],
          ],
        );
        assert.equal(gate.account('north').status, 'active');

        assert.equal(itemOf(await ask(gate)).type, 'compaction');
        assert.deepEqual(asked(gate).slice(2), [`north ${TURNS}`]);
      });
    }
  }

  test('[RB33] a 404 about the request is no missing path', async () => {
    await using gate = await start();
    gate.upstream.next(
      'north',
      replyJson({ error: { message: "Item with id 'rs_1' not found.", param: 'input', code: null } }, { status: 404 }),
    );
    const reply = await gate.send(ROUTE, { body: NATIVE_BODY });
    assert.deepEqual([reply.status, asked(gate)], [404, [`north ${ROUTE}`]]);
    await gate.send(ROUTE, { body: NATIVE_BODY });
    assert.deepEqual(asked(gate).slice(1), [`north ${ROUTE}`]);
  });

  test('[RB20] a 404 about the model is tried at the next account', async () => {
    await using gate = await start();
    gate.upstream.next('north', replyJson({ detail: 'Model not found model-a' }, { status: 404 }));
    assert.equal((await gate.send(ROUTE, { body: NATIVE_BODY })).status, 200);
    assert.deepEqual(asked(gate), [`north ${ROUTE}`, `south ${ROUTE}`]);
  });

  test('[RB33] each account finds out for itself', async () => {
    await using gate = await start();
    gate.upstream.next('north', GONE);
    await gate.send(ROUTE, { body: NATIVE_BODY });
    gate.upstream.next('north', 'refuse 429 usage_limit_reached resets 3600');
    await gate.send(ROUTE, { body: NATIVE_BODY });
    assert.deepEqual(asked(gate).slice(2), [`north ${TURNS}`, `south ${ROUTE}`]);
  });

  test('[Q27] `route` and `trigger` fix the way', async () => {
    await using gate = await start((draft) => {
      draft.accounts[0].compact = 'route';
    });
    gate.upstream.next('north', GONE);
    assert.equal((await gate.send(ROUTE, { body: NATIVE_BODY })).status, 404);
    assert.deepEqual(asked(gate), [`north ${ROUTE}`]);
    await gate.reconfigure((draft) => {
      draft.accounts[0].compact = 'trigger';
    });
    await gate.send(ROUTE, { body: NATIVE_BODY });
    assert.deepEqual(asked(gate).slice(1), [`north ${TURNS}`]);
  });

  for (const engine of ['sqlite', 'postgres'] as const) {
    test(`[RB33] what an account answered is remembered over a restart, until it moves (${engine})`, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'poolgate-compaction-'));
      const gate = await start(undefined, engine === 'sqlite' ? `sqlite:${join(folder, 'store.db')}` : await freshDatabase());
      gate.upstream.next('north', GONE);
      await gate.send(ROUTE, { body: NATIVE_BODY });
      const lost = gate.account('north').compaction;
      assert.equal(typeof lost.missingSince, 'number');
      await gate.flush();
      const next = await gate.restarted();
      try {
        next.upstream.clear();
        assert.deepEqual([next.account('north').compaction, next.account('south').compaction], [lost, { way: 'route' }]);
        assert.equal((await next.send(ROUTE, { body: NATIVE_BODY })).status, 200);
        assert.deepEqual(asked(next), [`north ${TURNS}`]);
        await next.reconfigure((draft) => {
          draft.accounts[0].base_url = next.upstream.urlOf('south');
          draft.accounts[0].credential = structuredClone(draft.accounts[1].credential);
        });
        await next.send(ROUTE, { body: NATIVE_BODY });
        assert.deepEqual(asked(next).slice(1), [`south ${ROUTE}`]);
      } finally {
        await next.close();
        rmSync(folder, { recursive: true });
      }
    });
  }

  test('[RB33] an account that lost its compact path is shown with the time, by /status, `poolgate status` and /mcp', async (context) => {
    const clock = new ShiftedClock();
    await using gate = await start(withOperator, undefined, clock);
    const shown = async () => {
      const { accounts } = (await (await fetch(`${gate.adminUrl}/api/status`)).json()) as { accounts: { compaction: object }[] };
      const listed = (await call(gate, 'list_accounts')).accounts as { compaction: object }[];
      return [...accounts, ...listed].map(({ compaction }) => compaction);
    };
    assert.deepEqual(await shown(), [
      { way: 'route' },
      { way: 'route' },
      { way: 'route', path_missing_since: null },
      { way: 'route', path_missing_since: null },
    ]);
    gate.upstream.next('north', GONE);
    const before = clock.now();
    await gate.send(ROUTE, { body: NATIVE_BODY });
    const [north, ...others] = (await shown()) as [{ missingSince: number }, ...object[]];
    assert.ok(north.missingSince >= before && north.missingSince <= clock.now());
    assert.deepEqual(
      [north, ...others],
      [
        { way: 'trigger', missingSince: north.missingSince },
        { way: 'route' },
        { way: 'trigger', path_missing_since: new Date(north.missingSince).toISOString() },
        { way: 'route', path_missing_since: null },
      ],
    );
    clock.setAhead(2 * 3_600_000);
    const path = fileAt(context, gate);
    const { out } = await poolgate(['status', '--config', path]);
    assert.match(out, /^north .*\n(?: {40,}.*\n)* {2}no compact path, found 2h00m ago: compacts with turns$/m);
    assert.equal(out.match(/no compact path/g)?.length, 1);
    await gate.reconfigure((draft) => {
      draft.accounts[0].compact = 'trigger';
    });
    assert.deepEqual((await shown())[0], { way: 'trigger' }, 'a setting is no loss');
  });

  test('[RB33] hosts that are known to have dropped it begin with trigger turns', () => {
    for (const url of ['https://chatgpt.com', 'https://www.chatgpt.com/path']) assert.ok(isAgentBackend(url), url);
    for (const url of ['https://chatgpt.com.example', 'https://provider.example', 'rehearsal:', 'not a url'])
      assert.ok(!isAgentBackend(url), url);
    assert.equal(hostOf('https://www.provider.example/x'), 'provider.example');
  });
});

/** The events of a trigger turn. */
const triggerTurn = (item: JsonObject, output: readonly Json[] = []): readonly JsonObject[] => {
  const response = { id: 'resp_1', object: 'response', status: 'in_progress', output: [] };
  return [
    { type: 'response.created', sequence_number: 0, response },
    { type: 'keepalive', sequence_number: 1 },
    { type: 'response.output_item.done', sequence_number: 2, output_index: 0, item },
    { type: 'response.completed', sequence_number: 3, response: { ...response, status: 'completed', output } },
  ];
};

const ITEM = { type: 'compaction', id: 'cmp_1', encrypted_content: 'opaque' };

describe('[RB34] a trigger turn', () => {
  for (const { name, ask } of ROUTES) {
    test(`[RB34] has its item in the events alone (${name})`, async () => {
      await using gate = await start((draft) => {
        for (const account of draft.accounts) account.compact = 'trigger';
      });
      gate.upstream.next('north', replyEvents(triggerTurn(ITEM)));
      assert.equal(itemOf(await ask(gate)).encrypted_content, 'opaque');
    });
  }
});

describe('[RB35] a compaction_summary', () => {
  const SUMMARY = { ...ITEM, type: 'compaction_summary' };
  const MESSAGE = { id: 'msg_1', type: 'message', role: 'user', content: [] };
  const ANSWERS: readonly (readonly [name: string, json: JsonObject])[] = [
    ['an item beside messages', { ...COMPACTED, output: [MESSAGE, SUMMARY] }],
    ['a member beside messages', { ...COMPACTED, output: [MESSAGE], compaction_summary: SUMMARY }],
    ['an item and a member', { ...COMPACTED, output: [SUMMARY], compaction_summary: SUMMARY }],
    ['a member without output', { ...COMPACTED, output: undefined as never, compaction_summary: { encrypted_content: 'opaque' } }],
  ];
  for (const [what, json] of ANSWERS) {
    for (const { name, ask } of ROUTES) {
      test(`[RB35] as ${what} is read as the compaction (${name})`, async () => {
        await using gate = await start();
        gate.upstream.next('north', replyJson(json));
        const item = itemOf(await ask(gate));
        assert.deepEqual([item.type, item.encrypted_content], ['compaction', 'opaque']);
      });
    }
  }

  test('[RB35] [F3.7] without its content it is no compaction', async () => {
    await using gate = await start();
    gate.upstream.next('north', replyJson({ ...COMPACTED, output: [{ type: 'compaction_summary', id: 'cmp_1' }] }));
    const reply = await gate.send(ROUTE, { body: NATIVE_BODY });
    assert.deepEqual([reply.status, reply.json.error.code], [502, 'invalid_compaction_response']);
  });
});
