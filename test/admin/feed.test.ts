// The feed of changes with a manual clock: how often a busy gateway names changes, which changes appear at once, and what a page that does
// not read gets.
import assert from 'node:assert/strict';
import type { Readable } from 'node:stream';
import { test } from 'node:test';
import type { AdminTarget } from '../../proxy/admin/admin-target.ts';
import { OperatorFeed } from '../../proxy/admin/feed/operator-feed.ts';

interface Account {
  readonly account: string;
  readonly inFlight: number;
  readonly status: string;
}

/** A gateway whose state and clock the test sets. */
class Stage {
  now = 1_000_000;
  written = 0;
  readonly counted: string[] = [];
  accounts: readonly Account[] = [{ account: 'north', inFlight: 0, status: 'active' }];
  #tick: (() => void) | undefined;
  readonly feed = new OperatorFeed({
    loaded: { config: { limits: { console_pages: 10 } } },
    startedAt: 1,
    services: {
      capacity: { status: () => ({ accounts: this.accounts }) },
      usage: { quota: { status: () => [] } },
      store: { stats: () => ({ written: this.written }) },
      counters: { values: { config_reloads: 0 }, add: (name: string) => void this.counted.push(name) },
      clock: {
        now: () => this.now,
        after: (_ms: number, run: () => void) => {
          this.#tick = run;
        },
      },
    },
  } as unknown as AdminTarget);

  open(): Readable {
    return this.feed.open(undefined, () => true) ?? assert.fail('too many');
  }

  /** Moves the clock by a second. */
  tick(): void {
    this.now += 1_000;
    this.#tick?.();
  }
}

/** The topics of the events that a page has not read yet. */
const topicsOf = (stream: Readable): readonly string[] =>
  [...String(stream.read() ?? '').matchAll(/^data: (.*)$/gm)].flatMap(
    ([, data = '{}']) => (JSON.parse(data) as { topics: string[] }).topics,
  );

test('a quiet gateway names each change within a second, a busy one its rows every five', () => {
  const stage = new Stage();
  const page = stage.open();
  assert.deepEqual(topicsOf(page), []);
  stage.written += 6;
  stage.tick();
  assert.deepEqual(topicsOf(page), ['requests']);
  const seen: (readonly string[])[] = [];
  for (let second = 0; second < 10; second++) {
    stage.written += 2_000;
    stage.accounts = [{ account: 'north', inFlight: second + 1, status: 'active' }];
    stage.tick();
    seen.push(topicsOf(page));
  }
  const event = ['accounts', 'requests'];
  assert.deepEqual(seen, [[], [], [], [], event, [], [], [], [], event]);
});

test('another state of an account is named at once, also while the gateway is busy', () => {
  const stage = new Stage();
  const page = stage.open();
  topicsOf(page);
  stage.written += 5_000;
  stage.tick();
  assert.deepEqual(topicsOf(page), []);
  stage.accounts = [{ account: 'north', inFlight: 1, status: 'reauth_required' }];
  stage.written += 5_000;
  stage.tick();
  assert.deepEqual(topicsOf(page), ['accounts', 'requests']);
});

test('one event waits for a page that does not read; it gets the topics of the others later, and is disconnected after a minute', () => {
  const stage = new Stage();
  const [reading, stalled] = [stage.open(), stage.open()];
  topicsOf(reading);
  stage.written += 1;
  stage.tick();
  stage.accounts = [{ account: 'north', inFlight: 1, status: 'active' }];
  stage.tick();
  assert.deepEqual(topicsOf(stalled), [], 'the event of its beginning');
  stage.tick();
  assert.deepEqual(topicsOf(stalled), ['requests', 'accounts']);
  stage.written += 1;
  for (let second = 0; second < 62; second++) {
    stage.tick();
    topicsOf(reading);
  }
  assert.deepEqual([reading.destroyed, stalled.destroyed], [false, true]);
  assert.deepEqual(stage.counted, ['console_pages_stalled']);
});
