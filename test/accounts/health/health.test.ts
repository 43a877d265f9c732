// Health: what closes an account to turns, for how long, for which of them, and who opens it again.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FailureCause } from '../../../proxy/turn/failure.ts';
import { failure, healthOf } from './support.ts';

describe('a cooldown', () => {
  for (const [what, given, scope, ms] of [
    ['a refused connection', failure('connect'), 'account', 10_000],
    ['a 403', failure('credential', { status: 403 }), 'account', 10_000],
    ['a 407', failure('credential', { status: 407 }), 'account', 10_000],
    ['a 402', failure('credential', { status: 402 }), 'account', 10_000],
    ['a 429 for a rate', failure('rate'), 'model', 10_000],
    ['a 429 with Retry-After', failure('rate', { retryAfterMs: 4_000 }), 'model', 4_000],
    ['a Retry-After of no time', failure('rate', { retryAfterMs: 0 }), 'model', 1_000],
    ['a missing model', failure('model'), 'model', 10_000],
  ] as const) {
    test(`after ${what} lasts ${ms} ms for the ${scope}`, async () => {
      const { health, visit, clock } = await healthOf();
      visit('north', given);
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
    test(`takes three failures in a row of the kind ${cause}, and holds for their model`, async () => {
      const { health, visit } = await healthOf();
      visit('north', failure(cause));
      visit('north', failure(cause));
      assert.equal(health.routable('north', 'model-a'), true);
      visit('north', 'completed');
      visit('north', failure(cause));
      visit('north', failure(cause));
      assert.equal(health.routable('north', 'model-a'), true, 'a success begins the row anew');
      visit('north', failure(cause));
      assert.equal(health.routable('north', 'model-a'), false);
      assert.equal(health.routable('north', 'model-b'), true);
    });
  }

  test('without a stated time doubles up to 300 s, and a success forgets that', async () => {
    const { health, visit, clock } = await healthOf();
    const lasted: number[] = [];
    const openAndWait = async (): Promise<void> => {
      visit('north', failure('connect'));
      const ms = (health.until('north', 'model-a') ?? 0) - clock.now();
      lasted.push(ms / 1000);
      await clock.advance(ms);
    };
    for (let i = 0; i < 7; i++) await openAndWait();
    visit('north', 'completed');
    await openAndWait();
    assert.deepEqual(lasted, [10, 20, 40, 80, 160, 300, 300, 10]);
  });

  test('is not made longer by the turns that were under way when it opened', async () => {
    const { health, clock } = await healthOf();
    const burst = [1, 2, 3, 4, 5].map(() => health.begin('north', 'model-a'));
    for (const visit of burst) health.end(visit, failure('connect'));
    assert.equal(health.until('north', 'model-a'), clock.now() + 10_000);
  });

  test('is not ended by a turn that began before it', async () => {
    const { health, visit } = await healthOf();
    const early = health.begin('north', 'model-a');
    visit('north', failure('connect'));
    health.answered(early);
    health.end(early, 'completed');
    assert.equal(health.routable('north', 'model-a'), false);
  });

  test('for an overloaded server lasts at least as long as it says', async () => {
    const { health, visit, clock } = await healthOf();
    for (let i = 0; i < 3; i++) visit('north', failure('server', { retryAfterMs: 60_000 }));
    assert.equal(health.until('north', 'model-a'), clock.now() + 60_000);
  });

  test('whose stated end lies beyond every window lasts 31 days at most, whatever a timer can hold', async () => {
    const { health, visit, clock } = await healthOf();
    visit('north', failure('rate', { retryAfterMs: 1e15 }));
    await clock.advance(30 * 86_400_000);
    assert.equal(health.routable('north', 'model-a'), false);
    await clock.advance(86_400_000);
    assert.equal(health.routable('north', 'model-a'), true);
  });

  test('ends also where the machine slept through its timer', async () => {
    const { health, visit, clock } = await healthOf();
    visit('north', failure('connect'));
    const { version } = health;
    const asleep = clock.now.bind(clock);
    clock.now = () => asleep() + 10_000;
    assert.notEqual(health.version, version);
    assert.equal(health.routable('north', 'model-a'), true);
  });
});

describe('what is no fault of the account', () => {
  for (const [what, result] of [
    ['a 4xx that blames the request', failure('request')],
    ['the provider’s limit on one connection', failure('server', { status: 200, code: 'websocket_connection_limit_reached' })],
    ['a client that left, or an answer that our own checks refused', 'neutral'],
  ] as const) {
    test(`${what} changes nothing, however often`, async () => {
      const { health, visit, store } = await healthOf();
      const { version } = health;
      for (let i = 0; i < 10; i++) visit('north', result);
      assert.equal(health.routable('north', 'model-a'), true);
      assert.equal(health.version, version);
      assert.deepEqual(store.puts, []);
    });
  }

  test('stands between failures without ending their row', async () => {
    const { health, visit } = await healthOf();
    for (const result of [failure('server'), failure('request'), failure('server'), 'neutral', failure('server')] as const)
      visit('north', result);
    assert.equal(health.routable('north', 'model-a'), false);
  });
});

describe('after failures, exactly one probe decides', () => {
  const failed = async () => {
    const world = await healthOf();
    for (let i = 0; i < 3; i++) world.visit('north', failure('server'));
    await world.clock.advance(10_000);
    return world;
  };

  test('and nobody else is admitted while it is under way', async () => {
    const { health } = await failed();
    assert.equal(health.standing('north', 'model-a'), 'open');
    const probe = health.begin('north', 'model-a');
    assert.equal(health.standing('north', 'model-a'), 'probing');
    assert.equal(health.routable('north', 'model-a'), true, 'its models stay listed as they are');
    health.end(probe, 'completed');
    assert.equal(health.standing('north', 'model-a'), 'open');
  });

  test('as soon as its reply is committed; should that break off, the next cooldown is a longer one', async () => {
    const { health, clock } = await failed();
    const probe = health.begin('north', 'model-a');
    health.answered(probe);
    assert.equal(health.standing('north', 'model-a'), 'open');
    health.end(probe, failure('network'));
    assert.equal(health.until('north', 'model-a'), clock.now() + 20_000);
  });

  test('by failing: the cooldown doubles, and then one more decides', async () => {
    const { health, visit, clock } = await failed();
    visit('north', failure('server'));
    assert.equal(health.until('north', 'model-a'), clock.now() + 20_000);
    await clock.advance(20_000);
    visit('north', 'completed');
    visit('north', failure('server'));
    assert.equal(health.standing('north', 'model-a'), 'open', 'the row begins anew');
  });

  test('unless its client leaves: that frees the slot for the next', async () => {
    const { health } = await failed();
    health.end(health.begin('north', 'model-a'), 'neutral');
    assert.equal(health.standing('north', 'model-a'), 'open');
    const next = health.begin('north', 'model-a');
    assert.ok(next.probes);
    assert.equal(health.standing('north', 'model-a'), 'probing');
  });

  test('but not after a stated time: then turns just pass again', async () => {
    const { health, visit, clock } = await healthOf();
    visit('north', failure('rate', { retryAfterMs: 5_000 }));
    await clock.advance(5_000);
    assert.equal(health.begin('north', 'model-a').probes, undefined);
    assert.equal(health.standing('north', 'model-a'), 'open');
  });

  test('about the account as a whole too, where it finds a server that answers badly', async () => {
    const { health, visit, clock } = await healthOf();
    visit('north', failure('connect'));
    await clock.advance(10_000);
    visit('north', failure('server'));
    assert.equal(health.routable('north', 'model-a'), true);
    assert.equal(health.status()[0]?.cooldown, undefined);
  });
});

describe('a lack of quota', () => {
  test('keeps an account routable, and out of selection until the stated reset [UA2]', async () => {
    const { health, visit, clock } = await healthOf();
    visit('north', failure('quota', { resetsAt: clock.now() / 1000 + 3600 }));
    assert.equal(health.routable('north', 'model-a'), true);
    assert.equal(health.standing('north', 'model-b'), 'quota');
    assert.equal(health.status()[0]?.status, 'active');
    await clock.advance(3_600_000);
    assert.equal(health.standing('north', 'model-a'), 'open');
  });

  test('lasts for Retry-After where no reset is stated, else 10 s, doubling', async () => {
    const { health, visit, clock } = await healthOf();
    visit('north', failure('quota', { retryAfterMs: 7_000 }));
    assert.equal(health.until('north', 'model-a'), clock.now() + 7_000);
    await clock.advance(7_000);
    visit('north', failure('quota'));
    assert.equal(health.until('north', 'model-a'), clock.now() + 10_000);
    await clock.advance(10_000);
    visit('north', failure('quota'));
    assert.equal(health.until('north', 'model-a'), clock.now() + 20_000);
  });

  test('is believed of the last account of a model too: it is its own statement', async () => {
    const { health, visit } = await healthOf({ others: { couldTake: () => false } });
    visit('north', failure('quota', { retryAfterMs: 7_000 }));
    assert.equal(health.standing('north', 'model-a'), 'quota');
  });

  test('ends with the account’s own newer word', async () => {
    const { health, visit } = await healthOf();
    visit('north', failure('quota', { retryAfterMs: 3_600_000 }));
    health.relieve('north');
    assert.equal(health.standing('north', 'model-a'), 'open');
  });
});

describe('a burst of failures', () => {
  for (const cause of ['connect', 'rate', 'server', 'model', 'network', 'timeout'] as FailureCause[]) {
    test(`of the kind ${cause} never closes the last account that could take a model’s turns`, async () => {
      const { health, visit } = await healthOf({ others: { couldTake: () => false } });
      for (let i = 0; i < 10; i++) visit('north', failure(cause));
      assert.equal(health.routable('north', 'model-a'), true);
    });
  }

  test('closes an account for the models that others serve, and spares the one that only it serves', async () => {
    const { health, visit, clock } = await healthOf({ others: { couldTake: (model) => model !== 'model-b' } });
    visit('north', failure('connect'));
    assert.equal(health.routable('north', 'model-a'), false);
    assert.equal(health.routable('north', 'model-b'), true);
    visit('north', failure('connect'), 'model-b');
    assert.equal(health.routable('north', 'model-b'), true);
    assert.equal(health.until('north', 'model-a'), clock.now() + 10_000);
  });

  test('closes the account as soon as there is somebody else again', async () => {
    let alone = true;
    const { health, visit } = await healthOf({ others: { couldTake: () => !alone } });
    for (let i = 0; i < 5; i++) visit('north', failure('server'));
    assert.equal(health.routable('north', 'model-a'), true);
    alone = false;
    visit('north', failure('server'));
    assert.equal(health.routable('north', 'model-a'), false);
  });
});

describe('a refused credential', () => {
  test('makes an account reauth_required, the last one too, until another credential is configured', async () => {
    const { health, visit, configure } = await healthOf({ bearers: { north: 'old' }, others: { couldTake: () => false } });
    visit('north', failure('credential'));
    assert.deepEqual([health.routable('north', 'model-a'), health.status()[0]?.status], [false, 'reauth_required']);
    configure(['north', 'south'], { north: 'old' });
    assert.equal(health.routable('north', 'model-a'), false);
    configure(['north', 'south'], { north: 'new' });
    assert.equal(health.routable('north', 'model-a'), true);
  });

  test('that was replaced while its turn was under way is not held against the new one', async () => {
    const { health, configure } = await healthOf({ bearers: { north: 'old' } });
    const visit = health.begin('north', 'model-a', 'old');
    configure(['north', 'south'], { north: 'new' });
    health.end(visit, failure('credential'));
    assert.equal(health.routable('north', 'model-a'), true);
  });
});

describe('the version', () => {
  test('moves with every answer that may have become another, and with nothing else', async () => {
    const { health, visit, clock } = await healthOf();
    const moves = async (step: () => unknown): Promise<boolean> => {
      const before = health.version;
      await step();
      return health.version !== before;
    };
    assert.equal(await moves(() => visit('north', 'completed')), false);
    assert.equal(await moves(() => visit('north', failure('server'))), false);
    assert.equal(await moves(() => visit('north', failure('server'))), false);
    assert.equal(await moves(() => visit('north', failure('server'))), true, 'the third opens a cooldown');
    assert.equal(await moves(() => clock.advance(9_999)), false);
    assert.equal(await moves(() => clock.advance(1)), true, 'it ends by time');
    let probe = health.begin('south', 'model-a');
    assert.equal(await moves(() => (probe = health.begin('north', 'model-a'))), true, 'a probe begins');
    assert.equal(await moves(() => health.answered(probe)), true, 'it has an answer');
    assert.equal(await moves(() => health.end(probe, 'completed')), false, 'which comes to its end');
    assert.equal(clock.pending, 0, 'no timer is left');
  });

  test('is told to listeners account by account, until they leave', async () => {
    const { health, visit } = await healthOf();
    const heard: string[] = [];
    const leave = health.onChange(({ account }) => void heard.push(account));
    visit('north', failure('connect'));
    leave();
    visit('south', failure('connect'));
    assert.deepEqual(heard, ['north']);
  });
});
