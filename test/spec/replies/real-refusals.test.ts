// Refusals in the forms of real agent backends, on every surface: their effect on the account, and the error that the client gets.
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import { isObject, type Json, type JsonObject } from '../../../proxy/turn/json/json.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { ShiftedClock } from '../../support/clocks/shifted-clock.ts';
import { type Draft, startGateway } from '../../support/gateway.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { modelEntry, replyBytes, replyEvents, replyJson } from '../../support/rehearsal-replies.ts';
import { CHAT, turnOn } from '../../support/turns/turn-paths.ts';
import { until } from '../../support/until.ts';
import { connect } from '../../support/websocket.ts';

const NATIVE = '/backend-api/agent/responses';
const PUBLIC = '/v1/responses';

const clock = new ShiftedClock();
const gate = await startGateway({
  clock,
  upstream: { accounts: ['north', 'south'], models: [modelEntry({ slug: 'model-a' }), modelEntry({ slug: 'model-b' })], strict: false },
  config: (draft: Draft) => {
    const assignments = ['north', 'south'].map((account) => ({ account }));
    draft.pools.push({ id: 'other', label: 'Other', strategy: 'fill_first', assignments });
  },
});
after(() => gate.close());
afterEach(() => {
  gate.heal();
  gate.upstream.clear();
  // This is past every reset, and past the time for which evidence is kept.
  clock.setAhead(40 * 86_400_000);
});

/** The result that a client got, in the same form for every surface. */
interface Got {
  /** The status of the answer, or of an error frame. */
  readonly status: number | undefined;
  readonly headers: Headers | undefined;
  /** The error of the answer, of the last event, or of the error frame. */
  readonly error: JsonObject | undefined;
  /** The type of the last event or frame; undefined for a JSON answer. */
  readonly last: string | undefined;
}

interface ClientRoute {
  readonly name: string;
  readonly native: boolean;
  readonly streams: boolean;
  readonly turn: (changes?: JsonObject) => Promise<Got>;
}

function overHttp(name: string, path: string, stream: boolean): ClientRoute {
  const turn = async (changes: JsonObject = {}): Promise<Got> => {
    const { status, headers, text, json } = await gate.send(path, { body: turnOn(path, 'hi', { stream, ...changes }) });
    if (headers.get('content-type')?.startsWith('text/event-stream') !== true) {
      return { status, headers, error: json?.error, last: undefined };
    }
    const data = eventsOf(text).at(-1)?.data;
    return { status, headers, error: data.error ?? data.response?.error, last: data.type ?? (data.error ? 'chunk' : data) };
  };
  return { name, native: path === NATIVE, streams: stream, turn };
}

function overWebsocket(name: string, path: string): ClientRoute {
  const turn = async (changes: JsonObject = {}): Promise<Got> => {
    using socket = await connect(gate, path);
    const frame = (await socket.turn(turnOn(path, 'hi', changes))).at(-1) as JsonObject;
    const response = isObject(frame.response) ? frame.response : {};
    const error = [frame.error, response.error].find(isObject);
    return { status: frame.status as number | undefined, headers: undefined, error, last: frame.type as string };
  };
  return { name, native: path === NATIVE, streams: true, turn };
}

const ROUTES: readonly ClientRoute[] = [
  overHttp('native stream', NATIVE, true),
  overHttp('public stream', PUBLIC, true),
  overHttp('public answer', PUBLIC, false),
  overHttp('chat stream', CHAT, true),
  overHttp('chat answer', CHAT, false),
  overWebsocket('native websocket', NATIVE),
  overWebsocket('public websocket', PUBLIC),
];
const HTTP = ROUTES.slice(0, 5);

const asked = (): readonly string[] => gate.upstream.turns().map(({ account }) => account);

const CREATED = {
  type: 'response.created',
  sequence_number: 0,
  response: { id: 'resp_1', object: 'response', status: 'in_progress', output: [] },
};
const DELTA = {
  type: 'response.output_text.delta',
  sequence_number: 1,
  item_id: 'msg_1',
  output_index: 0,
  content_index: 0,
  delta: 'Hello',
};

/** A refusal inside a reply: after lifecycle events, or after visible output. */
const inside = (event: Json, ...before: readonly Json[]) => replyEvents([CREATED, ...before, event]);

describe('[RB19] both shapes of refusals', () => {
  const CASES: readonly (readonly [name: string, body: Json, code: string | null, param: string | null, message: RegExp])[] = [
    [
      'a detail of text',
      { detail: 'Unsupported parameter: metadata' },
      'unsupported_parameter',
      'metadata',
      /^Unsupported parameter: metadata$/,
    ],
    [
      'a detail about a model',
      { detail: 'prompt_cache_retention is not supported on this model' },
      'unsupported_parameter',
      'prompt_cache_retention',
      /./,
    ],
    ['a rule in a detail', { detail: 'Store must be set to false' }, null, 'store', /^Store must be set to false$/],
    ['a role in a detail', { detail: 'System messages are not allowed' }, null, 'input', /^System/],
    [
      'a detail that is an object',
      { detail: { code: 'invalid_value', message: 'Bad tool.', param: 'tools' } },
      'invalid_value',
      'tools',
      /^Bad tool\.$/,
    ],
    [
      'a detail that is a list',
      { detail: [{ type: 'missing', loc: ['body', 'input', 0, 'role'], msg: 'Field required' }] },
      'missing_required_parameter',
      'input.0.role',
      /^Field required$/,
    ],
    [
      'an error object',
      { error: { message: 'Bad tool.', type: 'invalid_request_error', code: 'invalid_value', param: 'tools' }, status: 400 },
      'invalid_value',
      'tools',
      /^Bad tool\.$/,
    ],
    [
      'a list in the text of an error',
      {
        error: {
          message: "[{'type': 'missing', 'loc': ('body', 'tools', 0), 'msg': 'Field required', 'input': None}]",
          type: 'invalid_request_error',
          param: null,
          code: null,
        },
      },
      'missing_required_parameter',
      'tools.0',
      /Field required/,
    ],
  ];
  for (const [name, body, code, param, message] of CASES) {
    for (const route of HTTP.filter(({ native, name: route }) => !native && route.startsWith('public'))) {
      test(`[RB19] ${name} reaches a ${route.name} with code, param and message`, async () => {
        gate.upstream.next('north', replyJson(body, { status: 400 }));
        const { status, error } = await route.turn();
        assert.equal(status, 400);
        assert.deepEqual([error?.type, error?.code, error?.param], ['invalid_request_error', code, param]);
        assert.match(String(error?.message), message);
        assert.deepEqual(asked(), ['north'], 'the request is at fault');
      });
    }
  }
});

describe('[RB19] [Q2] a refusal over HTTP of a native websocket’s turn', () => {
  const EMPTY = { type: 'invalid_request_error', code: null, param: null } as const;
  for (const [name, reply, status, error] of [
    [
      'a detail',
      replyJson({ detail: 'Input must be a list' }, { status: 400 }),
      400,
      { ...EMPTY, param: 'input', message: 'Input must be a list' },
    ],
    [
      'a detail that is an object',
      replyJson({ detail: { code: 'invalid_value', message: 'Bad tool.', param: 'tools' } }, { status: 400 }),
      400,
      { ...EMPTY, code: 'invalid_value', param: 'tools', message: 'Bad tool.' },
    ],
    ['an error without a type', replyJson({ error: { message: 'Bad tool.' } }, { status: 409 }), 409, { ...EMPTY, message: 'Bad tool.' }],
    ['no JSON', replyBytes('Bad request', { status: 400 }), 400, { ...EMPTY, message: 'The provider refused the request.' }],
  ] as const) {
    test(`[RB19] [Q2] keeps its message in the error frame, and has the type of its status: ${name}`, async () => {
      await using mixed = await startGateway({
        upstream: { accounts: ['north', 'south'], models: [modelEntry({ slug: 'model-a' })], strict: false },
        config: (draft: Draft) => {
          draft.accounts[0].websocket = false;
        },
      });
      mixed.upstream.next('north', reply);
      using socket = await connect(mixed, NATIVE);
      const frame = (await socket.turn(turnOn(NATIVE, 'hi'))).at(-1) as JsonObject;
      assert.deepEqual([frame.status, frame.error], [status, error]);
    });
  }
});

describe('[RB8] a member that the account refuses by name', () => {
  const DETAIL = 'Unsupported parameter: max_output_tokens';
  for (const route of ROUTES) {
    const name = route.name.startsWith('chat') ? 'max_completion_tokens' : 'max_output_tokens';
    test(`[RB8] is ${name} in the error of a ${route.name}`, async () => {
      gate.upstream.next(
        'north',
        route.name.endsWith('websocket')
          ? replyEvents([{ type: 'error', status: 400, error: { type: 'invalid_request_error', message: DETAIL } }])
          : replyJson({ detail: DETAIL }, { status: 400 }),
      );
      const { status, error } = await route.turn({ [name]: 100 });
      assert.equal(status, 400);
      assert.deepEqual(asked(), ['north']);
      // Native clients get what the account sent: a detail, or a frame with this text as its message.
      if (route.native) return assert.equal(error?.message, route.name.endsWith('websocket') ? DETAIL : undefined);
      assert.deepEqual(
        [error?.type, error?.code, error?.param, error?.message],
        ['invalid_request_error', 'unsupported_parameter', name, `Unsupported parameter: ${name}`],
      );
    });

    test(`[RB8] inside the accepted turn of a ${route.name} it has the same words`, async () => {
      gate.upstream.next('north', inside({ type: 'error', sequence_number: 2, error: { type: 'invalid_request_error', message: DETAIL } }));
      const { error } = await route.turn({ [name]: 100 });
      assert.deepEqual(asked(), ['north']);
      assert.equal(error?.message, route.native ? DETAIL : `Unsupported parameter: ${name}`);
      if (!route.native) assert.deepEqual([error?.code, error?.param], ['unsupported_parameter', name]);
    });
  }
});

describe('[RB20] [RB2] a model that the account lacks, in words only', () => {
  const WORDS = [
    "The 'model-a' model is not supported when using Codex with a ChatGPT account.",
    "The 'model-a' model requires a newer version of Codex. Please upgrade to the latest app or CLI and try again.",
    'Model not found model-a',
  ];
  for (const route of ROUTES) {
    for (const detail of WORDS) {
      test(`[RB20] a turn of a ${route.name} goes to the next account: ${detail.slice(0, 40)}`, async () => {
        const status = detail.startsWith('Model') ? 404 : 400;
        gate.upstream.next(
          'north',
          route.name.endsWith('websocket')
            ? replyEvents([{ type: 'error', status, error: { type: 'invalid_request_error', message: detail } }])
            : replyJson({ detail }, { status }),
        );
        const { last } = await route.turn();
        assert.ok(last !== 'error' && last !== 'response.failed' && last !== 'chunk');
        assert.deepEqual(asked(), ['north', 'south']);
        assert.equal(gate.account('north').models['model-a']?.cause, 'model');
      });
    }
  }

  for (const route of ROUTES.filter(({ native }) => !native)) {
    for (const detail of WORDS) {
      test(`[RB20] where every account lacks it, a ${route.name} gets neutral words for: ${detail.slice(0, 40)}`, async () => {
        const status = detail.startsWith('Model') ? 404 : 400;
        const refusal = route.name.endsWith('websocket')
          ? replyEvents([{ type: 'error', status, error: { type: 'invalid_request_error', message: detail } }])
          : replyJson({ detail }, { status });
        for (const account of ['north', 'south']) gate.upstream.next(account, refusal);
        const { status: got, error } = await route.turn();
        const code = detail.startsWith('Model') ? 'model_not_found' : 'model_not_supported';
        assert.deepEqual(
          [got, error?.code, error?.param, error?.message],
          [status, code, 'model', 'The requested model is not available.'],
        );
        assert.deepEqual(asked(), ['north', 'south']);
      });
    }
  }

  test('[RB20] the words in the middle of another message mean nothing', async () => {
    gate.upstream.next('north', replyJson({ detail: "Bad value: The 'x' model is not supported" }, { status: 400 }));
    assert.equal((await overHttp('', PUBLIC, false).turn()).status, 400);
    assert.deepEqual(asked(), ['north']);
  });
});

const OVERLOADED = {
  type: 'error',
  error: { type: 'service_unavailable_error', code: 'server_is_overloaded', message: 'Our servers are overloaded.', param: null },
  sequence_number: 2,
};
const FAILED = {
  type: 'response.failed',
  sequence_number: 2,
  response: {
    id: 'resp_1',
    object: 'response',
    status: 'failed',
    output: [],
    error: { code: 'server_is_overloaded', message: 'Overloaded.' },
  },
};
const LIMITED = { type: 'error', error: { type: 'usage_limit_reached', message: 'The usage limit has been reached', plan_type: 'plus' } };

describe('[RB21] refusals inside an accepted turn', () => {
  for (const route of ROUTES) {
    for (const [name, event, cause] of [
      ['an error without a status', OVERLOADED, 'server'],
      ['a failed response', FAILED, 'server'],
      ['a usage limit by its type alone', LIMITED, 'quota'],
    ] as const) {
      test(`[RB21] ${name} after lifecycle events: a turn of a ${route.name} goes to the next account`, async () => {
        gate.upstream.next('north', inside(event));
        const { last } = await route.turn();
        assert.ok(last !== 'error' && last !== 'response.failed' && last !== 'chunk');
        assert.deepEqual(asked(), ['north', 'south']);
        const { cooldown, models } = gate.account('north');
        assert.equal(cause === 'quota' ? cooldown?.cause : (models['model-a']?.cause ?? 'server'), cause);
      });
    }

    test(`[RB21] after visible output the client of a ${route.name} learns that the turn failed`, async () => {
      gate.upstream.next('north', inside(OVERLOADED, DELTA));
      const { status, error, last } = await route.turn();
      if (!route.streams) assert.deepEqual([status, error?.code, asked()], [502, 'upstream_error', ['north']]);
      else {
        assert.deepEqual(asked(), ['north']);
        assert.equal(error?.code, 'server_is_overloaded');
        const isFrame = route.name.endsWith('websocket');
        assert.equal(last, isFrame ? 'error' : route.native ? 'response.failed' : route.name.startsWith('chat') ? 'chunk' : 'error');
        assert.equal(status, isFrame ? 503 : 200, 'a frame has a numeric status');
      }
    });
  }

  test('[RB21] a native stream gets the response that failed, with the id that it began with and its numbers', async () => {
    gate.upstream.next('north', inside(OVERLOADED, DELTA));
    const { text } = await gate.send(NATIVE, { body: turnOn(NATIVE, 'hi') });
    const { event, data } = eventsOf(text).at(-1) ?? {};
    assert.equal(event, 'response.failed');
    assert.deepEqual(data, {
      type: 'response.failed',
      sequence_number: 2,
      response: { id: 'resp_1', object: 'response', status: 'failed', error: OVERLOADED.error, output: [] },
    });
  });

  test('[RB21] where every account refuses inside its reply, a native stream ends with the failed response', async () => {
    for (const account of ['north', 'south']) gate.upstream.next(account, inside(OVERLOADED));
    const { text } = await gate.send(NATIVE, { body: turnOn(NATIVE, 'hi') });
    assert.deepEqual(
      eventsOf(text).map(({ data }) => data.type),
      ['response.created', 'response.failed'],
    );
    assert.equal(eventsOf(text).at(-1)?.data.response.id, 'resp_1');
  });

  test('[RB5] a login that is refused inside the reply is not shown, and is no failure of the request', async () => {
    gate.upstream.next(
      'north',
      inside({ ...FAILED, response: { ...FAILED.response, error: { code: 'token_invalidated', message: 'Sign in again.' } } }),
    );
    const { status, last } = await overHttp('', NATIVE, true).turn();
    assert.deepEqual([status, last, asked()], [200, 'response.completed', ['north', 'south']]);
    assert.equal(gate.account('north').status, 'reauth_required');
  });
});

describe('[Q3] a rate refusal inside a 200', () => {
  const RATE = { type: 'error', error: { type: 'rate_limit_error', code: 'rate_limit_exceeded', message: 'Slow down.', param: null } };
  for (const route of ROUTES.filter(({ streams }) => !streams)) {
    test(`[Q3] is 429 rate_limit_exceeded for a ${route.name}`, async () => {
      for (const account of ['north', 'south']) gate.upstream.next(account, inside(RATE));
      const { status, headers, error } = await route.turn();
      assert.deepEqual([status, error?.code, error?.type, error?.param], [429, 'rate_limit_exceeded', 'rate_limit_error', null]);
      assert.equal(error?.message, 'The provider limits the rate of this request.');
      assert.equal(headers?.get('retry-after'), '1');
    });
  }

  test('[Q1] a native client gets whole seconds of a wait that its account states with decimals', async () => {
    for (const account of ['north', 'south'])
      gate.upstream.next(account, replyJson(RATE, { status: 429, headers: { 'retry-after': '2.5' } }));
    const { status, headers } = await overHttp('', NATIVE, true).turn();
    assert.deepEqual([status, headers?.get('retry-after')], [429, '3']);
  });

  test('[Q3] [Q17] a public stream that begins with it has the same type', async () => {
    for (const account of ['north', 'south']) gate.upstream.next(account, inside(RATE));
    const { error } = await overHttp('', PUBLIC, true).turn();
    assert.deepEqual([error?.code, error?.type], ['rate_limit_exceeded', 'rate_limit_error']);
  });
});

const seconds = (from: number): number => Math.floor(clock.now() / 1000) + from;

/** The quota headers of an account with these windows. */
const windows = (primary: number, secondary: number): Record<string, string> => ({
  'x-agent-primary-used-percent': String(primary),
  'x-agent-primary-window-minutes': '300',
  'x-agent-primary-reset-at': String(seconds(3_600)),
  'x-agent-secondary-used-percent': String(secondary),
  'x-agent-secondary-window-minutes': '10080',
  'x-agent-secondary-reset-at': String(seconds(86_400)),
});

const USAGE_LIMIT = { type: 'usage_limit_reached', message: 'The usage limit has been reached', plan_type: 'plus' };

/** Both accounts refuse; `soonest` is the time of the second one. */
const limitedBy = (body: JsonObject, headers: Readonly<Record<string, string>> = {}) =>
  replyJson({ error: body }, { status: 429, headers });

describe('[RB22] usage limits', () => {
  for (const route of ROUTES) {
    test(`[RB22] the client of a ${route.name} gets the soonest reset of the Pool, and no plan`, async () => {
      const [later, sooner] = [seconds(7_200), seconds(600)];
      gate.upstream.next('north', limitedBy({ ...USAGE_LIMIT, resets_at: later, resets_in_seconds: 7_200 }));
      gate.upstream.next('south', limitedBy({ ...USAGE_LIMIT, resets_at: sooner, resets_in_seconds: 600 }));
      const { status, error } = await route.turn();
      assert.equal(status, 429);
      assert.deepEqual([error?.type, error?.code, error?.resets_at], ['usage_limit_reached', 'usage_limit_reached', sooner]);
      assert.equal('plan_type' in (error ?? {}), false);
    });

    test(`[RB22] without a reset in the body, that of the full window in the headers counts (${route.name})`, async () => {
      // A frame repeats the headers (RB27).
      const refusal = (headers: JsonObject): ReturnType<typeof replyEvents> =>
        route.name.endsWith('websocket')
          ? replyEvents([{ type: 'error', status: 429, error: USAGE_LIMIT, headers }])
          : limitedBy(USAGE_LIMIT, headers as Record<string, string>);
      const full = windows(98, 40);
      gate.upstream.next('north', refusal(windows(12, 97)));
      gate.upstream.next('south', refusal(full));
      const { status, error } = await route.turn();
      assert.deepEqual([status, error?.type], [429, 'usage_limit_reached']);
      assert.equal(error?.resets_at, Number(full['x-agent-primary-reset-at']));
      assert.ok(Math.abs((gate.quota('north').until ?? 0) - seconds(86_400) * 1000) < 5_000);
    });
  }

  test('[RB22] a plan without usage is final, and takes the account out', async () => {
    for (const account of ['north', 'south'])
      gate.upstream.next(account, limitedBy({ type: 'usage_not_included', message: 'To use this, upgrade.', plan_type: 'free' }));
    const { status, headers, error } = await overHttp('', PUBLIC, false).turn();
    assert.deepEqual([status, error?.code, headers?.get('x-should-retry')], [429, 'usage_limit_reached', 'false']);
    assert.equal(gate.quota('north').status, 'exhausted');
  });

  test('[RB22] [RB23] no time is stated for a limit that has no reset', async () => {
    for (const type of ['usage_not_included', 'workspace_owner_credits_depleted']) {
      for (const account of ['north', 'south']) gate.upstream.next(account, limitedBy({ type, message: 'No.' }));
      const { turn } = overHttp('', PUBLIC, false);
      for (const { status, headers, error } of [await turn(), await turn()]) {
        assert.deepEqual([status, error?.code, error?.resets_at], [429, 'usage_limit_reached', undefined], type);
        assert.equal(headers?.get('retry-after'), null);
      }
      gate.heal();
    }
  });

  test('[RB27] an error frame repeats its headers, as texts, numbers or booleans', async () => {
    const headers = { ...windows(12, 97), 'X-Agent-Secondary-Used-Percent': 97, 'x-agent-credits-unlimited': false };
    gate.upstream.next('north', replyEvents([{ type: 'error', status: 429, error: USAGE_LIMIT, headers }]));
    using socket = await connect(gate, NATIVE);
    assert.equal((await socket.turn(turnOn(NATIVE, 'hi'))).at(-1)?.type, 'response.completed');
    assert.deepEqual([gate.quota('north').status, asked()], ['exhausted', ['north', 'south']]);
    assert.ok(Math.abs((gate.quota('north').until ?? 0) - seconds(86_400) * 1000) < 5_000);
  });
});

describe('[RB23] limits of a workspace', () => {
  const WORDS = [
    'workspace_owner_credits_depleted',
    'workspace_member_credits_depleted',
    'workspace_owner_usage_limit_reached',
    'workspace_member_usage_limit_reached',
    'organization_spend_limit_exceeded',
    'credit_balance_exhausted',
  ] as const;
  const stated = (word: string, how: 'header' | 'type' | 'code'): ReturnType<typeof limitedBy> => {
    if (how === 'header') return limitedBy(USAGE_LIMIT, { ...windows(3, 5), 'x-agent-rate-limit-reached-type': word });
    return limitedBy({ message: 'Out of credits.', [how]: word }, windows(3, 5));
  };
  for (const word of WORDS) {
    for (const how of ['header', 'type', 'code'] as const) {
      test(`[RB23] ${word} as ${how} takes the account out for every model and Pool, though its windows have room`, async () => {
        gate.upstream.next('north', stated(word, how));
        await overHttp('', PUBLIC, true).turn();
        assert.deepEqual(asked(), ['north', 'south']);
        assert.deepEqual([gate.quota('north').status, gate.quota('north').until], ['exhausted', null]);
        // This is longer than the cooldown of a refusal without a reset.
        clock.setAhead(120_000);
        await overHttp('', PUBLIC, true).turn({ model: 'model-b' });
        assert.deepEqual(asked(), ['north', 'south', 'south'], 'another model');
        await gate.reconfigure((draft) => {
          draft.keys[0].pool = 'other';
        });
        await overHttp('', NATIVE, true).turn();
        assert.deepEqual(asked(), ['north', 'south', 'south', 'south'], 'another Pool');
        await gate.reconfigure((draft) => {
          draft.keys[0].pool = 'team';
        });
      });
    }
  }

  test('[RB23] the usage read decides: a limit that it confirms lasts, and one that it denies ends', async () => {
    const hand = new ManualClock();
    await using own = await startGateway({ clock: hand, upstream: { accounts: ['north', 'south'], clock: hand, strict: false } });
    const path = '/backend-api/meter/usage';
    const read = (limit: string | null): JsonObject => ({
      plan_type: 'team',
      rate_limit: {
        allowed: true,
        limit_reached: false,
        primary_window: { used_percent: 3, limit_window_seconds: 18_000, reset_after_seconds: 3_600 },
        secondary_window: null,
      },
      rate_limit_reached_type: limit === null ? null : { type: limit },
    });
    const isFromRead = (): boolean => own.quota('north').windows.some(({ source }) => source === 'read');
    await until('the first read', () => isFromRead() || undefined);
    own.upstream.nextOn('north', path, replyJson(read('workspace_owner_credits_depleted')), replyJson(read(null)));
    own.upstream.next('north', stated('workspace_owner_credits_depleted', 'header'));
    await own.send(NATIVE, { body: turnOn(NATIVE, 'hi') });
    const isReadAfter = (at: number): boolean =>
      own.quota('north').windows.some(({ source, stated_at }) => source === 'read' && stated_at > at);
    const states: string[] = [own.quota('north').status];
    // The first wait ends after the moment of the refusal; the second one is the usual wait.
    for (const wait of [60_000, 300_000]) {
      const before = hand.now();
      await hand.advance(wait);
      // On a busy machine the answer may come while the clock still advances.
      await until('the usage read', () => isReadAfter(before) || undefined);
      states.push(own.quota('north').status);
    }
    assert.deepEqual(states, ['exhausted', 'exhausted', 'available']);
  });
});
