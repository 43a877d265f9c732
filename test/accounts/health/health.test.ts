// What makes an account unavailable, for how long and for which models, and what ends that state.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AttemptResult } from '../../../proxy/accounts/health/attempt-result.ts';
import type { FailureCause } from '../../../proxy/turn/errors/failure.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { failure, healthOf, healthOver } from './support.ts';

describe('a cooldown', () => {
  for (const [what, given, scope, ms] of [
    ['a refused connection', failure('connect'), 'account', 10_000],
    ['a 403', failure('credential', { status: 403 }), 'account', 10_000],
    ['a 407', failure('credential', { status: 407 }), 'account', 10_000],
    ['a 402', failure('credential', { status: 402 }), 'account', 10_000],
    ['a 429 for a rate', failure('rate'), 'model', 10_000],
    ['a 429 with Retry-After', failure('rate', { retryAfterMs: 4_000 }), 'model', 4_000],
    ['a Retry-After of 0 s', failure('rate', { retryAfterMs: 0 }), 'model', 1_000],
    ['a missing model', failure('model'), 'model', 10_000],
  ] as const) {
    test(`${what} cools the ${scope} for ${ms} ms`, async () => {
      const { health, attempt, clock } = await healthOf();
      attempt('north', given);
      assert.equal(health.routable('north', 'model-a'), false);
      assert.equal(health.routable('north', 'model-b'), scope === 'model');
      assert.equal(health.routable('south', 'model-a'), true);
      await clock.advance(ms - 1);
      assert.equal(health.routable('north', 'model-a'), false);
      await clock.advance(1);
      assert.equal(health.routable('north', 'model-a'), true);
    });
  }

  for (const cause of ['server', 'network', 'timeout', 'malformed'] as const) {
    test(`three consecutive failures with cause ${cause} cool the model`, async () => {
      const { health, attempt } = await healthOf();
      attempt('north', failure(cause));
      attempt('north', failure(cause));
      assert.equal(health.routable('north', 'model-a'), true);
      attempt('north', 'completed');
      attempt('north', failure(cause));
      attempt('north', failure(cause));
      assert.equal(health.routable('north', 'model-a'), true, 'a success resets the count');
      attempt('north', failure(cause));
      assert.equal(health.routable('north', 'model-a'), false);
      assert.equal(health.routable('north', 'model-b'), true);
    });
  }

  test('a cooldown without a stated time doubles up to 300 s, and a success resets it', async () => {
    const { health, attempt, clock } = await healthOf();
    const lasted: number[] = [];
    const openAndWait = async (): Promise<void> => {
      attempt('north', failure('connect'));
      const ms = (health.cooldownEnd('north', 'model-a') ?? 0) - clock.now();
      lasted.push(ms / 1000);
      await clock.advance(ms);
    };
    for (let i = 0; i < 7; i++) await openAndWait();
    attempt('north', 'completed');
    await openAndWait();
    assert.deepEqual(lasted, [10, 20, 40, 80, 160, 300, 300, 10]);
  });

  test('attempts that were running when a cooldown opened do not lengthen it', async () => {
    const { health, clock } = await healthOf();
    const burst = [1, 2, 3, 4, 5].map(() => health.begin('north', 'model-a'));
    for (const ticket of burst) health.end(ticket, failure('connect'));
    assert.equal(health.cooldownEnd('north', 'model-a'), clock.now() + 10_000);
  });

  test('an attempt that began before a cooldown does not end it', async () => {
    const { health, attempt } = await healthOf();
    const early = health.begin('north', 'model-a');
    attempt('north', failure('connect'));
    health.answered(early);
    health.end(early, 'completed');
    assert.equal(health.routable('north', 'model-a'), false);
  });

  test('a cooldown for an overloaded server lasts at least the stated wait', async () => {
    const { health, attempt, clock } = await healthOf();
    for (let i = 0; i < 3; i++) attempt('north', failure('server', { retryAfterMs: 60_000 }));
    assert.equal(health.cooldownEnd('north', 'model-a'), clock.now() + 60_000);
  });

  test('a stated wait is limited to 31 days, also where it is longer than a timer can be', async () => {
    const { health, attempt, clock } = await healthOf();
    attempt('north', failure('rate', { retryAfterMs: 1e15 }));
    await clock.advance(30 * 86_400_000);
    assert.equal(health.routable('north', 'model-a'), false);
    await clock.advance(86_400_000);
    assert.equal(health.routable('north', 'model-a'), true);
  });

  test('a cooldown ends without its timer, as after a machine slept', async () => {
    const { health, attempt, clock } = await healthOf();
    attempt('north', failure('connect'));
    const { version } = health;
    clock.skip(10_000);
    assert.notEqual(health.version, version);
    assert.equal(health.routable('north', 'model-a'), true);
  });
});

describe('a result that is not a fault of the account', () => {
  for (const [what, result] of [
    ['a 4xx for a faulty request', failure('request')],
    ['the provider’s limit on one connection', failure('server', { status: 200, code: 'websocket_connection_limit_reached' })],
    ['a client that left, or a reply that our own checks refused', 'neutral'],
  ] as const) {
    test(`${what} changes nothing`, async () => {
      const { health, attempt, store } = await healthOf();
      const { version } = health;
      for (let i = 0; i < 10; i++) attempt('north', result);
      assert.equal(health.routable('north', 'model-a'), true);
      assert.equal(health.version, version);
      assert.deepEqual(store.puts, []);
    });
  }

  test('a neutral result between failures does not reset their count', async () => {
    const { health, attempt } = await healthOf();
    for (const result of [failure('server'), failure('request'), failure('server'), 'neutral', failure('server')] as const)
      attempt('north', result);
    assert.equal(health.routable('north', 'model-a'), false);
  });
});

describe('a probe after a cooldown', () => {
  const failed = async () => {
    const world = await healthOf();
    for (let i = 0; i < 3; i++) world.attempt('north', failure('server'));
    await world.clock.advance(10_000);
    return world;
  };

  test('no other turn passes while the probe is running', async () => {
    const { health } = await failed();
    assert.equal(health.availability('north', 'model-a'), 'available');
    const probe = health.begin('north', 'model-a');
    assert.equal(health.availability('north', 'model-a'), 'probing');
    assert.equal(health.routable('north', 'model-a'), true, 'its models stay listed');
    health.end(probe, 'completed');
    assert.equal(health.availability('north', 'model-a'), 'available');
  });

  test('a committed reply closes the breaker; if the reply then breaks off, the next cooldown is longer', async () => {
    const { health, clock } = await failed();
    const probe = health.begin('north', 'model-a');
    health.answered(probe);
    assert.equal(health.availability('north', 'model-a'), 'available');
    health.end(probe, failure('network'));
    assert.equal(health.cooldownEnd('north', 'model-a'), clock.now() + 20_000);
  });

  test('a failed probe doubles the cooldown, and the next turn after it is a probe', async () => {
    const { health, attempt, clock } = await failed();
    attempt('north', failure('server'));
    assert.equal(health.cooldownEnd('north', 'model-a'), clock.now() + 20_000);
    await clock.advance(20_000);
    attempt('north', 'completed');
    attempt('north', failure('server'));
    assert.equal(health.availability('north', 'model-a'), 'available', 'the success reset the count');
  });

  test('a probe whose client leaves is replaced by the next turn', async () => {
    const { health } = await failed();
    health.end(health.begin('north', 'model-a'), 'neutral');
    assert.equal(health.availability('north', 'model-a'), 'available');
    const next = health.begin('north', 'model-a');
    assert.ok(next.probes);
    assert.equal(health.availability('north', 'model-a'), 'probing');
  });

  test('after a stated wait turns pass without a probe', async () => {
    const { health, attempt, clock } = await healthOf();
    attempt('north', failure('rate', { retryAfterMs: 5_000 }));
    await clock.advance(5_000);
    assert.equal(health.begin('north', 'model-a').probes, undefined);
    assert.equal(health.availability('north', 'model-a'), 'available');
  });

  test('a probe that gets an error from the server ends the cooldown of the whole account', async () => {
    const { health, attempt, clock } = await healthOf();
    attempt('north', failure('connect'));
    await clock.advance(10_000);
    attempt('north', failure('server'));
    assert.equal(health.routable('north', 'model-a'), true);
    assert.equal(health.status()[0]?.cooldown, undefined);
  });
});

describe('an exhausted quota', () => {
  test('[UA2] the account stays routable and is not selected until the stated reset', async () => {
    const { health, attempt, clock } = await healthOf();
    attempt('north', failure('quota', { resetsAt: clock.now() / 1000 + 3600 }));
    assert.equal(health.routable('north', 'model-a'), true);
    assert.equal(health.availability('north', 'model-b'), 'quota');
    assert.equal(health.status()[0]?.status, 'active');
    await clock.advance(3_600_000);
    assert.equal(health.availability('north', 'model-a'), 'available');
  });

  test('without a stated reset the cooldown lasts for Retry-After, else for 10 s, doubling', async () => {
    const { health, attempt, clock } = await healthOf();
    attempt('north', failure('quota', { retryAfterMs: 7_000 }));
    assert.equal(health.cooldownEnd('north', 'model-a'), clock.now() + 7_000);
    await clock.advance(7_000);
    attempt('north', failure('quota'));
    assert.equal(health.cooldownEnd('north', 'model-a'), clock.now() + 10_000);
    await clock.advance(10_000);
    attempt('north', failure('quota'));
    assert.equal(health.cooldownEnd('north', 'model-a'), clock.now() + 20_000);
  });

  test('it cools the last account of a model too, because it is the account’s own statement', async () => {
    const { health, attempt } = await healthOf({ alternatives: { existFor: () => false } });
    attempt('north', failure('quota', { retryAfterMs: 7_000 }));
    assert.equal(health.availability('north', 'model-a'), 'quota');
  });

  test('a newer statement of the account ends the cooldown', async () => {
    const { health, attempt } = await healthOf();
    attempt('north', failure('quota', { retryAfterMs: 3_600_000 }));
    health.endQuotaCooldown('north');
    assert.equal(health.availability('north', 'model-a'), 'available');
  });
});

describe('a burst of failures', () => {
  for (const cause of ['connect', 'rate', 'server', 'model', 'network', 'timeout'] as FailureCause[]) {
    test(`failures with cause ${cause} never cool the last account of a model`, async () => {
      const { health, attempt } = await healthOf({ alternatives: { existFor: () => false } });
      for (let i = 0; i < 10; i++) attempt('north', failure(cause));
      assert.equal(health.routable('north', 'model-a'), true);
    });
  }

  test('a cooldown of the account exempts the model that only this account serves', async () => {
    const { health, attempt, clock } = await healthOf({ alternatives: { existFor: (model) => model !== 'model-b' } });
    attempt('north', failure('connect'));
    assert.equal(health.routable('north', 'model-a'), false);
    assert.equal(health.routable('north', 'model-b'), true);
    attempt('north', failure('connect'), 'model-b');
    assert.equal(health.routable('north', 'model-b'), true);
    assert.equal(health.cooldownEnd('north', 'model-a'), clock.now() + 10_000);
  });

  test('a failure cools the account once another account is available again', async () => {
    let alone = true;
    const { health, attempt } = await healthOf({ alternatives: { existFor: () => !alone } });
    for (let i = 0; i < 5; i++) attempt('north', failure('server'));
    assert.equal(health.routable('north', 'model-a'), true);
    alone = false;
    attempt('north', failure('server'));
    assert.equal(health.routable('north', 'model-a'), false);
  });
});

describe('a refused credential', () => {
  test('the account is reauth_required until another credential is configured, also where it is the last one', async () => {
    const { health, attempt, configure } = await healthOf({ bearers: { north: 'old' }, alternatives: { existFor: () => false } });
    attempt('north', failure('credential'));
    assert.deepEqual([health.routable('north', 'model-a'), health.status()[0]?.status], [false, 'reauth_required']);
    configure(['north', 'south'], { north: 'old' });
    assert.equal(health.routable('north', 'model-a'), false);
    configure(['north', 'south'], { north: 'new' });
    assert.equal(health.routable('north', 'model-a'), true);
  });

  test('a login that this process cannot open is not stored as refused, and ends with a bearer in its place', async () => {
    const { health, configure, store } = await healthOf();
    health.loginMissing('north');
    assert.deepEqual([health.routable('north', 'model-a'), health.status()[0]?.status], [false, 'reauth_required']);
    configure(['north', 'south'], {});
    assert.equal(health.routable('north', 'model-a'), false);
    assert.deepEqual(store.puts, []);
    configure(['north', 'south'], { north: 'new' });
    assert.equal(health.routable('north', 'model-a'), true);
  });

  test('the refusal of a credential that was replaced during the attempt does not affect the new one', async () => {
    const { health, configure } = await healthOf({ bearers: { north: 'old' } });
    const ticket = health.begin('north', 'model-a', 'old');
    configure(['north', 'south'], { north: 'new' });
    health.end(ticket, failure('credential'));
    assert.equal(health.routable('north', 'model-a'), true);
  });
});

describe('the version', () => {
  test('the version changes exactly when an availability may have changed', async () => {
    const { health, attempt, clock } = await healthOf();
    const changes = async (step: () => unknown): Promise<boolean> => {
      const before = health.version;
      await step();
      return health.version !== before;
    };
    assert.equal(await changes(() => attempt('north', 'completed')), false);
    assert.equal(await changes(() => attempt('north', failure('server'))), false);
    assert.equal(await changes(() => attempt('north', failure('server'))), false);
    assert.equal(await changes(() => attempt('north', failure('server'))), true, 'the third failure opens a cooldown');
    assert.equal(await changes(() => clock.advance(9_999)), false);
    assert.equal(await changes(() => clock.advance(1)), true, 'the cooldown ends');
    let probe = health.begin('south', 'model-a');
    assert.equal(await changes(() => (probe = health.begin('north', 'model-a'))), true, 'a probe begins');
    assert.equal(await changes(() => health.answered(probe)), true, 'its reply is committed');
    assert.equal(await changes(() => health.end(probe, 'completed')), false, 'its reply ends');
    assert.equal(clock.pending, 0, 'no timer is left');
  });

  test('listeners are called with each changed account until they unsubscribe', async () => {
    const { health, attempt } = await healthOf();
    const changed: string[] = [];
    const unsubscribe = health.onChange(({ account }) => void changed.push(account));
    attempt('north', failure('connect'));
    unsubscribe();
    attempt('south', failure('connect'));
    assert.deepEqual(changed, ['north']);
  });
});

describe('a store that a clock wrote which was set back since', () => {
  const HOUR_MS = 3_600_000;

  /** Starts a later process whose clock is an hour behind that of the process that stored this failure. */
  async function restartedEarlier(failed: AttemptResult) {
    const clock = new ManualClock();
    clock.skip(HOUR_MS);
    const { health, store } = await healthOf({ clock });
    health.end(health.begin('north', 'model-a'), failed);
    const earlier = new ManualClock();
    return { earlier, store, ...(await healthOver(store, {}, earlier)) };
  }

  test('[Q5] a cooldown lasts no longer than when it was opened', async () => {
    const { earlier, health } = await restartedEarlier(failure('rate', { retryAfterMs: 10_000 }));
    assert.equal(health.cooldownEnd('north', 'model-a'), earlier.now() + 10_000);
    await earlier.advance(9_999);
    assert.equal(health.availability('north', 'model-a'), 'cooldown');
    await earlier.advance(1);
    assert.equal(health.availability('north', 'model-a'), 'available');
  });

  test('[Q5] the same row, read again, does not lengthen the cooldown', async () => {
    const { earlier, health, states } = await restartedEarlier(failure('rate', { retryAfterMs: 10_000 }));
    await earlier.advance(6_000);
    await states.refresh([['north', 'model-a']]);
    await earlier.advance(4_000);
    assert.equal(health.availability('north', 'model-a'), 'available');
  });
});
