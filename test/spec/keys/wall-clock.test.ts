// If the wall clock of the machine is set back or forward by an hour, waits and durations do not change, but dates do.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ShiftedClock } from '../../support/clocks/shifted-clock.ts';
import { startGateway } from '../../support/gateway.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { until } from '../../support/until.ts';

const HOUR = 3_600_000;
const NATIVE = '/backend-api/agent/responses';

/** Sets the clock that the process reads. */
function setWallClock(context: TestContext, ms: number): void {
  const { now } = Date;
  context.mock.method(Date, 'now', () => now() + ms);
}

for (const [direction, ms] of [
  ['back', -HOUR],
  ['forward', HOUR],
] as const) {
  test(`[Q5] a cooldown of a second ends after it, though the clock was set ${direction} an hour`, async (context) => {
    const gate = await startGateway({ upstream: { accounts: ['north', 'south'] } });
    context.after(() => gate.close());
    gate.upstream.next('north', 'refuse 429 retry 1');
    const began = performance.now();
    assert.equal((await gate.send(NATIVE, { body: turnBody('hi') })).status, 200);
    const isCooling = (): boolean => gate.account('north').models['model-a']?.phase === 'cooling';
    assert.ok(isCooling());
    setWallClock(context, ms);
    assert.ok(isCooling(), 'the change of the clock does not end it');
    await until('the end of the cooldown', () => (isCooling() ? undefined : true));
    assert.ok(performance.now() - began >= 999);
  });

  test(`[S5] a turn during which the clock was set ${direction} has its date by the wall clock and a duration`, async (context) => {
    const clock = new ShiftedClock();
    const gate = await startGateway({ clock, upstream: { accounts: ['north'] } });
    context.after(() => gate.close());
    gate.upstream.next('north', 'stall before headers for 30 ms');
    const turn = gate.send(NATIVE, { body: turnBody('hi') });
    await until('the turn at the account', () => gate.upstream.turns()[0]);
    clock.setWallClock(ms);
    const during = await gate.row(await turn);
    const after = await gate.row(await gate.send(NATIVE, { body: turnBody('hi') }));
    assert.ok(during && during.duration_ms >= 0 && during.duration_ms < 60_000, `${during?.duration_ms} ms`);
    assert.ok(after && Math.abs(after.at - clock.wallTime()) < 60_000);
  });
}
