// Failover over real sockets: if an account fails before any output, another account answers, and the rows show both.
import assert from 'node:assert/strict';
import { after, beforeEach, describe, type TestContext, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import type { AttemptRow, RequestRow } from '../../../store/store.ts';
import { ShiftedClock } from '../../support/clocks/shifted-clock.ts';
import { type Reply, startGateway } from '../../support/gateway.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import type { Script } from '../../support/rehearsal.ts';
import { replyEvents, replyJson, turnBody } from '../../support/rehearsal-replies.ts';
import { CHAT, turnOn } from '../../support/turns/turn-paths.ts';
import { connect } from '../../support/websocket.ts';

const NATIVE = '/backend-api/agent/responses';
const ROUTES = [
  { path: NATIVE, stream: true },
  { path: NATIVE, stream: false },
  { path: '/v1/responses', stream: true },
  { path: '/v1/responses', stream: false },
  { path: CHAT, stream: true },
  { path: CHAT, stream: false },
] as const;

const clock = new ShiftedClock();
const gate = await startGateway({ clock, upstream: { manners: { streamedUnstoredLists: false } } });
after(() => gate.close());

beforeEach(() => {
  gate.heal();
  gate.upstream.clear();
  // The clock moves past every reset that a case states, and past the retry budget that earlier cases used.
  clock.setAhead(2 * 3_600_000);
});

interface Case {
  readonly what: string;
  /** The answer of north; south answers normally. */
  readonly script: Script;
  readonly status: number | null;
  readonly class: string;
  readonly cause: string;
  /** The state of north afterwards. */
  readonly north: 'active' | 'reauth_required' | 'failing' | 'model cools' | 'out of quota';
}

const CASES: readonly Case[] = [
  {
    what: 'resets before headers',
    script: 'reset before headers',
    status: null,
    class: 'upstream_network',
    cause: 'network',
    north: 'active',
  },
  {
    what: 'closes before headers',
    script: 'cut before headers',
    status: null,
    class: 'upstream_network',
    cause: 'network',
    north: 'active',
  },
  {
    what: 'breaks off after its head',
    script: 'cut after headers',
    status: 200,
    class: 'upstream_network',
    cause: 'network',
    north: 'active',
  },
  { what: 'answers 401', script: 'refuse 401', status: 401, class: 'upstream_status', cause: 'credential', north: 'reauth_required' },
  { what: 'answers 402', script: 'refuse 402', status: 402, class: 'upstream_status', cause: 'credential', north: 'failing' },
  { what: 'answers 403', script: 'refuse 403', status: 403, class: 'upstream_status', cause: 'credential', north: 'failing' },
  { what: 'answers 407', script: 'refuse 407', status: 407, class: 'upstream_status', cause: 'credential', north: 'failing' },
  {
    what: 'lacks the model',
    script: 'refuse 404 model_not_found',
    status: 404,
    class: 'upstream_status',
    cause: 'model',
    north: 'model cools',
  },
  {
    what: 'does not support the model',
    script: 'refuse 400 model_not_supported',
    status: 400,
    class: 'upstream_status',
    cause: 'model',
    north: 'model cools',
  },
  {
    what: 'answers 429 with a reset',
    script: 'refuse 429 usage_limit_reached resets 3600',
    status: 429,
    class: 'upstream_rate_limited',
    cause: 'quota',
    north: 'out of quota',
  },
  {
    what: 'answers 429 with Retry-After',
    script: 'refuse 429 retry 7',
    status: 429,
    class: 'upstream_rate_limited',
    cause: 'rate',
    north: 'model cools',
  },
  {
    what: 'answers 429 without any',
    script: 'refuse 429',
    status: 429,
    class: 'upstream_rate_limited',
    cause: 'rate',
    north: 'model cools',
  },
  { what: 'answers 500', script: 'refuse 500', status: 500, class: 'upstream_status', cause: 'server', north: 'active' },
  { what: 'answers 503', script: 'refuse 503', status: 503, class: 'upstream_status', cause: 'server', north: 'active' },
  { what: 'refuses inside a 200', script: 'refuse inside', status: 200, class: 'upstream_refusal', cause: 'server', north: 'active' },
  {
    what: 'refuses inside a 200 at once',
    script: 'refuse inside as error after 0 events',
    status: 200,
    class: 'upstream_refusal',
    cause: 'server',
    north: 'active',
  },
  {
    what: 'refuses for a rate inside a 200',
    script: 'refuse inside rate_limit_exceeded',
    status: 200,
    class: 'upstream_rate_limited',
    cause: 'rate',
    north: 'model cools',
  },
  {
    what: 'refuses for quota inside a 200',
    script: 'refuse inside usage_limit_reached',
    status: 200,
    class: 'upstream_rate_limited',
    cause: 'quota',
    north: 'out of quota',
  },
];

for (const { what, script, status, class: errorClass, cause, north } of CASES) {
  describe(`[ER4] an account that ${what}`, () => {
    for (const { path, stream } of ROUTES) {
      test(`has no effect for the client of ${path}${stream ? ', streamed' : ''}`, async () => {
        const streamed = stream || path !== NATIVE;
        // A JSON answer has no lifecycle events after which it could break off, and its refusals are in its body.
        if (!streamed && what.startsWith('breaks off')) return;
        gate.upstream.next('north', script);
        const reply = await gate.send(path, { body: turnOn(path, 'hi', { stream }) });
        assertClean(reply, stream);
        const { row, attempts } = await rowOf(reply);
        assert.deepEqual([row.account, row.retries, row.outcome, row.code], ['SOUTH', 1, 'completed', null]);
        assert.deepEqual(
          attempts.map((attempt) => [attempt.account, attempt.cause, attempt.status, attempt.error_class]),
          [
            ['NORTH', 'first', status, errorClass],
            ['SOUTH', cause, 200, null],
          ],
        );
        assert.equal(stateOf('north'), north);
        assert.equal(stateOf('south'), 'active');
      });
    }
  });
}

test('[ER4] an account that refuses connections is skipped, and not asked again while it cools down', async () => {
  await gate.upstream.hangUp('north');
  try {
    const reply = await gate.send('/v1/responses', { body: turnBody('hi') });
    assertClean(reply, true);
    const { attempts } = await rowOf(reply);
    assert.deepEqual(
      attempts.map(({ account, cause, status, error_class }) => [account, cause, status, error_class]),
      [
        ['NORTH', 'first', null, 'upstream_connect'],
        ['SOUTH', 'connect', 200, null],
      ],
    );
    assert.equal(stateOf('north'), 'failing');
    const next = await rowOf(await gate.send('/v1/responses', { body: turnBody('hi') }));
    assert.deepEqual([next.row.account, next.row.retries, next.row.why?.others.cooldown], ['SOUTH', 0, 1]);
  } finally {
    await gate.upstream.pickUp('north');
  }
  clock.setAhead(10_000);
  const back = await rowOf(await gate.send('/v1/responses', { body: turnBody('hi') }));
  assert.deepEqual([back.row.account, stateOf('north')], ['NORTH', 'active'], 'one probe decides');
});

test('[RM3] the parameter that an account names is kept on its failed attempt, where it is a path and nothing else', async () => {
  const failing = (param: unknown): Script =>
    replyJson({ error: { message: 'no', code: 'server_error', param } } as JsonObject, { status: 500 });
  gate.upstream.next('north', failing('tools.0.parameters'));
  const one = await rowOf(await gate.send(NATIVE, { body: turnBody('hi') }));
  assert.deepEqual(
    one.attempts.map(({ upstream_error_param }) => upstream_error_param),
    ['tools.0.parameters', null],
  );
  assert.equal(one.row.upstream_error_param, null, 'the turn itself did not fail');
  for (const param of ['not a path: <secret>', 'x'.repeat(201), 7]) {
    gate.upstream.next('north', failing(param));
    gate.upstream.next('south', failing(param));
    const { row, attempts } = await rowOf(await gate.send(NATIVE, { body: turnBody('hi') }));
    assert.deepEqual([row.upstream_error_param, ...attempts.map(({ upstream_error_param }) => upstream_error_param)], [null, null, null]);
    gate.heal();
    clock.setAhead(10_000);
  }
});

describe('[RM3] the parameter of a refusal inside a 200 is kept in the row of the turn too', () => {
  const refused = replyEvents([
    {
      type: 'error',
      sequence_number: 0,
      error: { type: 'invalid_request_error', code: 'invalid_value', param: 'input[0].content', message: 'no' },
    },
  ]);
  const isKept = async (row: RequestRow | undefined): Promise<void> => {
    assert.deepEqual([row?.code, row?.upstream_error_param], ['invalid_value', 'input[0].content']);
    const attempts = await gate.attempts(row?.id ?? '');
    assert.deepEqual(
      attempts.map(({ upstream_error_param }) => upstream_error_param),
      ['input[0].content'],
    );
  };

  for (const { path, stream } of ROUTES) {
    test(`${path}, ${stream ? 'streamed' : 'collected'}`, async () => {
      gate.upstream.next('north', refused);
      await isKept(await gate.row(await gate.send(path, { body: turnOn(path, 'hi', { stream }) })));
    });
  }

  for (const path of [NATIVE, '/v1/responses']) {
    test(`${path}, on a websocket`, async () => {
      gate.upstream.next('north', refused);
      using socket = await connect(gate, path);
      await socket.turn(turnBody('hi'));
      await isKept((await gate.rows()).at(-1));
    });
  }
});

test('[ER4] silence before the first byte is 504, and no other account is tried: the work may have run', async () => {
  await gate.reconfigure((draft) => {
    draft.timeouts.upstream_first_byte_ms = 30;
  });
  gate.upstream.next('north', 'stall before headers');
  const reply = await gate.send(NATIVE, { body: turnBody('hi') });
  assert.deepEqual([reply.status, reply.json.error.code], [504, 'upstream_timeout']);
  const { row, attempts } = await rowOf(reply);
  assert.deepEqual([row.error_class, attempts.map(({ error_class }) => error_class)], ['upstream_timeout', ['upstream_timeout']]);
  assert.equal(gate.upstream.turns('south').length, 0);
  await gate.reconfigure((draft) => {
    draft.timeouts.upstream_first_byte_ms = 300_000;
  });
});

describe('after the first visible event nothing is tried again', () => {
  for (const { path, stream } of ROUTES.filter((route) => route.stream || route.path !== NATIVE)) {
    test(`[F1.8] on ${path}${stream ? ', streamed' : ''}`, async () => {
      gate.upstream.next('north', 'cut after 6 events');
      const reply = await gate.send(path, { body: turnOn(path, 'hi', { stream }) }).catch((error: Error) => error);
      assert.equal(gate.upstream.turns('south').length, 0);
      if (path === NATIVE) assert.ok(reply instanceof Error, 'a native stream ends as it died, without its last chunk (Q17)');
      else if (!stream) assert.deepEqual([(reply as Reply).status, (reply as Reply).json.error.code], [502, 'upstream_error']);
      else assert.equal(eventsOf((reply as Reply).text).at(-1)?.data.error.code, 'server_error');
      const row = (await gate.rows()).at(-1) as RequestRow;
      assert.deepEqual([row.error_class, row.retries], ['upstream_network', 0]);
      const [attempt] = await gate.attempts(row.id);
      assert.deepEqual([attempt?.status, attempt?.error_class], [200, 'upstream_network']);
    });
  }

  test('and three such ends in a row cool the account down like three refusals', async () => {
    for (let i = 0; i < 3; i++) {
      assert.equal(stateOf('north'), 'active');
      gate.upstream.next('north', 'cut after 6 events');
      await gate.send('/v1/responses', { body: turnBody('hi', { stream: true }) });
    }
    assert.equal(stateOf('north'), 'model cools');
  });
});

describe('how often', () => {
  test('each account is asked once in a turn, and the client gets the last failure', async () => {
    gate.upstream.always('north', 'refuse 503');
    gate.upstream.always('south', 'refuse 500');
    const reply = await gate.send(NATIVE, { body: turnBody('hi') });
    assert.equal(reply.status, 500);
    assert.deepEqual(
      gate.upstream.turns().map(({ account }) => account),
      ['north', 'south'],
    );
  });

  test('no more than max_attempts accounts are asked', async () => {
    await using wide = await startGateway({
      upstream: { accounts: ['a', 'b', 'c', 'd'] },
      config: (draft) => {
        draft.pools[0].max_attempts = 2;
      },
    });
    for (const account of ['a', 'b', 'c', 'd']) wide.upstream.always(account, 'refuse 503');
    assert.equal((await wide.send(NATIVE, { body: turnBody('hi') })).status, 503);
    assert.equal(wide.upstream.turns().length, 2);
  });

  /** Stops the time of the gateway, so that a slow machine does not pass the ten seconds. @returns a function that lets it go on */
  const stopped = (context: TestContext): (() => void) => {
    const now = clock.now();
    const { mock } = context.mock.method(clock, 'now', () => now);
    return () => mock.restore();
  };

  test('the retries of a Pool are a fifth of its turns, and at least ten in ten seconds', async (context) => {
    const goOn = stopped(context);
    gate.upstream.always('north', 'refuse 400 model_not_supported');
    gate.upstream.always('south', 'refuse 400 model_not_supported');
    const retried: number[] = [];
    const before = gate.count('retries_withheld');
    for (let i = 0; i < 13; i++) {
      gate.heal();
      retried.push((await rowOf(await gate.send(NATIVE, { body: turnBody('hi') }))).row.retries);
    }
    assert.deepEqual(retried, [...Array(10).fill(1), 0, 0, 0]);
    assert.equal(gate.count('retries_withheld') - before, 3);
    goOn();
    clock.setAhead(10_000);
    gate.heal();
    assert.equal((await rowOf(await gate.send(NATIVE, { body: turnBody('hi') }))).row.retries, 1);
  });

  for (const status of [401, 403]) {
    test(`a retry that is not made counts once, also where an error frame refuses the credential with ${status}`, async (context) => {
      stopped(context);
      gate.upstream.always('north', 'refuse 400 model_not_supported');
      gate.upstream.always('south', 'refuse 400 model_not_supported');
      const withheld = (): number => gate.count('retries_withheld');
      for (let i = 0; i < 11; i++) {
        gate.heal();
        await gate.send(NATIVE, { body: turnBody('hi') });
      }
      gate.heal();
      const before = withheld();
      const refusal = replyEvents([{ type: 'error', status, error: { code: 'invalid_token', message: 'refused' } }]);
      gate.upstream.always('north', refusal);
      gate.upstream.always('south', refusal);
      const { row } = await rowOf(await gate.send(NATIVE, { body: turnBody('hi', { stream: true }) }));
      assert.deepEqual([row.error_class, row.outcome], ['upstream_status', 'failed']);
      assert.equal(withheld() - before, 1);
    });
  }

  test('a turn whose request is at fault is sent once', async () => {
    gate.upstream.next('north', 'refuse 400 invalid_value');
    assert.equal((await gate.send(NATIVE, { body: turnBody('hi') })).status, 400);
    assert.equal(gate.upstream.turns().length, 1);
    assert.equal(stateOf('north'), 'active');
  });
});

test('[S1] a turn never goes to an account outside its Pool, whatever fails', async () => {
  await using two = await startGateway({
    upstream: { accounts: ['ours', 'theirs'] },
    config: (draft) => {
      draft.pools[0].assignments = [{ account: 'ours' }];
      draft.pools.push({ id: 'other', assignments: [{ account: 'theirs' }] });
    },
  });
  two.upstream.always('ours', 'refuse 401');
  assert.equal((await two.send(NATIVE, { body: turnBody('hi') })).status, 502);
  assert.equal((await two.send(NATIVE, { body: turnBody('hi') })).status, 503);
  assert.equal(two.upstream.turns('theirs').length, 0);
});

/** Asserts that the client got one complete answer without a trace of the account that failed. */
function assertClean({ status, text, json }: Reply, streamed: boolean): void {
  assert.equal(status, 200, text);
  assert.doesNotMatch(text, /north|error_class|overloaded/i);
  if (!streamed) assert.equal(json.status ?? json.choices[0].finish_reason, json.object === 'response' ? 'completed' : 'stop');
  else if (text.includes('chat.completion.chunk')) {
    const chunks = eventsOf(text).map(({ data }) => data.choices?.[0]);
    assert.deepEqual([chunks[0]?.delta.role, chunks.at(-2)?.finish_reason, eventsOf(text).at(-1)?.data], ['assistant', 'stop', '[DONE]']);
    assert.equal(chunks.filter((chunk) => chunk?.delta.role).length, 1);
  } else {
    const types = eventsOf(text).flatMap(({ data }) => data.type ?? []);
    assert.deepEqual([types[0], types.at(-1)], ['response.created', 'response.completed']);
    assert.equal(types.filter((type) => type === 'response.created').length, 1);
  }
}

async function rowOf({ headers }: Reply): Promise<{ readonly row: RequestRow; readonly attempts: readonly AttemptRow[] }> {
  const row = await gate.row({ headers });
  assert.ok(row, 'the turn has its row');
  return { row, attempts: await gate.attempts(row.id) };
}

function stateOf(account: string): string {
  const { status, cooldown, models } = gate.account(account);
  if (cooldown?.cause === 'quota') return 'out of quota';
  return Object.keys(models).length > 0 ? 'model cools' : status;
}
