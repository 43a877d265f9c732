// A node whose feed is cut polls every 10 s (Q34): it gets the changes of other nodes by polls, and serves with its own state until then.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Clock, systemClock } from '../../../proxy/base/time/clock.ts';
import type { TestGateway } from '../../support/gateway.ts';
import { converged, startNodes, turn, went } from '../../support/nodes/convergence.ts';
import { freshDatabase, postgres } from '../../support/postgres/postgres.ts';
import { Link } from '../../support/postgres/postgres-link.ts';

const POLL_MS = 10_000;

/** The clock of the machine, except that timers of a poll interval run when the test calls `passInterval`. */
class PollClock implements Clock {
  #due: (() => void)[] = [];

  now = (): number => systemClock.now();
  wallTime = (): number => systemClock.wallTime();

  after = (ms: number, run: () => void): (() => void) => {
    if (ms !== POLL_MS) return systemClock.after(ms, run);
    this.#due.push(run);
    return () => {
      this.#due = this.#due.filter((one) => one !== run);
    };
  };

  /** Lets ten seconds pass, but only for polls. */
  passInterval(): void {
    for (const run of this.#due.splice(0)) run();
  }
}

test('[Q34] with its feed cut a node sees a cooldown and settled usage with its next poll, and everything at once when the feed is back', async (context) => {
  const direct = await freshDatabase();
  const link = await Link.open(direct);
  context.after(() => link.close());
  link.refusesFeeds = true;
  const server = await postgres();
  const clock = new PollClock();
  await using nodes = await startNodes(2, {
    clock,
    file: (draft, number) => Object.assign(draft, server.settings(number === 2 ? link.url(direct) : direct)),
  });
  const [one, other] = nodes.all as [TestGateway, TestGateway];
  const cooling = (): unknown => other.account('north').models['model-a']?.until;
  const used = async (): Promise<number> => (await other.send('/v1/usage')).json.request_count;

  one.upstream.next('north', 'refuse 429 rate_limit_exceeded retry 3600');
  await turn(one);
  await one.flush();
  went(one);
  assert.equal(cooling(), undefined);
  await turn(other);
  assert.deepEqual(went(other), ['north']);

  await converged('the poll', () => {
    clock.passInterval();
    return cooling() ?? undefined;
  });
  await converged('the usage of both', async () => (await used()) === 2 || undefined);
  await turn(other);
  assert.deepEqual(went(other), ['south']);

  link.refusesFeeds = false;
  one.heal();
  await converged('the news of the feed', () => cooling() === undefined || undefined);
});
