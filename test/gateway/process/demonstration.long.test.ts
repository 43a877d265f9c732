// In the shipped demonstration the flaky account must not exhaust the retry budget by itself, so no turn fails (Q6).
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';
import { PROFILES } from '../../../proxy/rehearsal/account/account-profiles.ts';
import type { RehearsalProfile } from '../../../proxy/turn/settings.ts';
import { ManualClock, settled } from '../../support/clocks/manual-clock.ts';
import { DIGEST, type Draft, startGateway, type TestGateway } from '../../support/gateway.ts';

const shipped = parse(readFileSync(new URL('../../../config.yaml', import.meta.url), 'utf8')) as Draft;
const INTERVAL_MS = 1000 / 3;
/** The flaky account repeats its three failures every nine turns. */
const FLAKY_CYCLE = 9;

/** Starts the shipped configuration. Its rehearsal accounts run in this process, so they share the clock of the test. */
function demonstration(clock: ManualClock): Promise<TestGateway> {
  const accounts = (shipped.accounts as { id: string; base_url: string }[]).map(({ id, base_url }) => {
    const profile = PROFILES[(base_url.slice('rehearsal:'.length) || 'steady') as RehearsalProfile];
    assert.ok(profile, base_url);
    return { id, profile };
  });
  return startGateway({
    clock,
    upstream: { accounts, clock },
    config: (draft) => {
      const { accounts: addresses, listen, admin, store } = draft;
      // The shipped secrets are accepted only with `rehearsal:` addresses.
      Object.assign(draft, shipped, { listen, admin, store, store_key: undefined, operators: [] });
      draft.accounts = shipped.accounts.map((account: Draft, i: number) => ({ ...account, ...addresses[i] }));
      draft.keys = shipped.keys.map((key: Draft) => ({ ...key, secret_sha256: [DIGEST] }));
    },
  });
}

/** Sends turns at 3 a second, half of them streams. @returns the failed ones */
async function run(gate: TestGateway, clock: ManualClock, count: number): Promise<readonly string[]> {
  const failures: string[] = [];
  for (let i = 0; i < count; i++) {
    const end = clock.now() + INTERVAL_MS;
    const stream = i % 2 === 0;
    let running = true;
    const turn = gate.send('/v1/responses', { body: { model: 'model-a', input: 'Who are you?', stream } }).then(({ status, text }) => {
      running = false;
      if (status !== 200 || (stream && !text.includes('response.completed'))) failures.push(`turn ${i}: ${status} ${text.slice(0, 200)}`);
    });
    for (let ticks = 0; running && ticks < 10_000; ticks++) await settled();
    // The clock advances for turns that wait for a timer.
    while (running) await clock.advance(INTERVAL_MS);
    await turn;
    if (clock.now() < end) await clock.advance(end - clock.now());
  }
  return failures;
}

test('[Q6] 1,000 turns of the shipped configuration at 3 a second all succeed', async () => {
  const clock = new ManualClock();
  await using gate = await demonstration(clock);
  assert.deepEqual(await run(gate, clock, 1_000), []);
  const retries = gate.count('retries');
  assert.equal(gate.count('turns'), 1_000);
  assert.ok(retries > 50, `${retries} retries`);
});

test('[Q6] 30 turns after a pause all succeed where each begins at the flaky account, from any turn of its cycle', async () => {
  const clock = new ManualClock();
  await using gate = await demonstration(clock);
  await gate.reconfigure((draft) => {
    draft.pools = draft.pools.map((pool: Draft) => ({ ...pool, strategy: 'fill_first', assignments: pool.assignments.toReversed() }));
  });
  const flakyTurns = (): number => gate.upstream.turns('south').length;
  for (let start = 0; start < FLAKY_CYCLE; start++) {
    while (flakyTurns() % FLAKY_CYCLE !== start) {
      await run(gate, clock, 1);
      await clock.advance(60_000);
    }
    assert.deepEqual(await run(gate, clock, 30), [], `from turn ${start} of the cycle`);
    await clock.advance(60_000);
  }
  const retries = gate.count('retries');
  assert.ok(retries > 50, `${retries} retries`);
});
