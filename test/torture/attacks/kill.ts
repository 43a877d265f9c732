// Kills the gateway's process at a random moment under load, sometimes while tokens are refreshed, and starts it again on the same store.
import { setTimeout as sleep } from 'node:timers/promises';
import { SeededRandom } from '../../simulation/seeded-random.ts';
import { until } from '../../support/until.ts';
import type { Attack, Case } from '../attack.ts';
import { callNamed } from '../calls/http-calls.ts';
import { runClean } from '../calls/run-call.ts';
import { expect } from '../finding.ts';
import { Load, type LoadFinding } from '../stage/load.ts';
import { logIn } from '../stage/logins.ts';
import type { Stage } from '../stage/stage.ts';

/** The time before the end in which requests may reach the provider after the end of the process. */
const UNDER_WAY_MS = 1_500;

export const kill: Attack = {
  name: 'kill',
  title: 'the process killed at random moments under load',
  stage: 'logins',
  lanes: 1,
  sample: 1,
  // Rows of answers just before the kill are lost with the process, and so is a token that was rotated at that moment.
  allows: { unequalRows: true, logged: ['credential_refused'] },
  async cases(_stage, random) {
    return casesOf(random);
  },
};

function* casesOf(random: SeededRandom): Generator<Case> {
  for (let number = 0; ; number++) {
    const moment = Math.floor(random.between(20, 900));
    const expires = random.next() < 0.7;
    // Shortly after an expiry, when a refresh follows, or at any time.
    const after = expires ? Math.floor(random.between(0, 60)) : 0;
    const seed = Math.floor(random.between(0, 1e9));
    const name = `${number}:after ${moment} ms${expires ? `, ${after} ms behind an expiry` : ''}`;
    yield { name, run: (_lane, stage) => killed(stage, { moment, expires, after, seed }) };
  }
}

interface Moment {
  readonly moment: number;
  readonly expires: boolean;
  readonly after: number;
  readonly seed: number;
}

async function killed(stage: Stage, { moment, expires, after, seed }: Moment): Promise<void> {
  // An account that no turn has used since the last round still has the token that expired in it.
  const isStale = accountsOf(stage).some((account) => stage.upstream.loginOf(account).isExpired);
  const load = new Load(stage, new SeededRandom(seed));
  await sleep(moment);
  const early = load.toldSoFar;
  await written(stage, early);
  const expiredAt = isStale ? 0 : expires ? performance.now() : Number.POSITIVE_INFINITY;
  if (expires) for (const account of accountsOf(stage)) stage.upstream.loginOf(account).expire();
  await sleep(after);
  const at = performance.now();
  await stage.program.kill();
  const { found } = await load.stop();
  let restartedAt: number;
  try {
    // A whole upload that was read before the account refused the credential cannot be sent again.
    const isAllowed = (one: LoadFinding): boolean => !one.mayRetry && one.at >= expiredAt && one.status === 502;
    const [before] = found.filter((one) => one.at < at && !isAllowed(one));
    expect(before === undefined, () => `before the process was killed: ${before?.message}`);
    await checkStore(stage, early);
  } finally {
    restartedAt = performance.now();
    for (const lane of stage.lanes) lane.told.clear();
    await stage.start();
  }
  // Requests that the process sent just before its end may have reached the provider after it.
  await checkLogins(stage, { from: at - UNDER_WAY_MS, to: restartedAt });
}

const accountsOf = (stage: Stage): readonly string[] => stage.lanes.flatMap(({ accounts }) => accounts);

/**
 * Resolves when the rows of these answers are in the database. They wait at most 100 ms to be written, and longer on a busy machine; the
 * time is noted. @throws Error if they are not written in time
 */
async function written(stage: Stage, told: readonly string[]): Promise<void> {
  const began = performance.now();
  const all = async (): Promise<true | undefined> => {
    const rows = new Set((await stage.database.all('SELECT id FROM requests')).map(({ id }) => id));
    return told.every((id) => rows.has(id)) ? true : undefined;
  };
  await until('the rows of all answers so far', all);
  stage.note('longest until rows were written, ms', { value: performance.now() - began, of: `${told.length} answers` });
}

/** Checks that rows which were written before the kill are on disk once, and that the file is intact. */
async function checkStore(stage: Stage, told: readonly string[]): Promise<void> {
  const [integrity] = await stage.database.all('PRAGMA integrity_check');
  expect(integrity?.integrity_check === 'ok', () => `integrity_check: ${JSON.stringify(integrity)}`);
  const rows = new Set((await stage.database.all('SELECT id FROM requests')).map(({ id }) => id));
  const lost = told.filter((id) => !rows.has(id));
  await checkUsage(stage);
  expect(lost.length === 0, () => `${lost.length} of ${told.length} rows were lost that were written before: ${lost[0]}`);
}

/** Checks the usage of each key, which is written together with the rows of its turns. */
async function checkUsage(stage: Stage): Promise<void> {
  const keys = await stage.database.all(
    'SELECT key_id, requests, (SELECT count(*) FROM requests r WHERE r.key_id = u.key_id AND r.account IS NOT NULL) AS tried, ' +
      "(SELECT count(*) FROM requests r WHERE r.key_id = u.key_id AND r.account IS NOT NULL AND r.outcome = 'completed') AS completed " +
      'FROM (SELECT key_id, sum(requests) AS requests FROM usage GROUP BY key_id) u',
  );
  for (const { key_id, requests, tried, completed } of keys) {
    const settled = Number(requests);
    expect(settled <= Number(tried), () => `${key_id} has the usage of ${settled} turns and rows of ${tried}`);
    expect(settled >= Number(completed), () => `${key_id} has the usage of ${settled} turns and rows of ${completed} completed ones`);
  }
}

/** Checks that the gateway has the rotated tokens, except tokens that could not be on disk before the kill. */
async function checkLogins(stage: Stage, lastCalls: { readonly from: number; readonly to: number }): Promise<void> {
  for (const lane of stage.lanes) {
    await lane.endCooldowns();
    try {
      await runClean(lane, callNamed('native'));
    } catch (thrown) {
      const interrupted = lane.exchanges.own.some(
        ({ path, begunAt }) => path === '/oauth/token' && begunAt > lastCalls.from && begunAt < lastCalls.to,
      );
      if (!interrupted) throw thrown;
      stage.note('log-ins lost with a refresh that was under way', { value: 1, of: 'the provider had spent the old token' });
      for (const account of lane.accounts) await logIn(stage, account);
      await runClean(lane, callNamed('native'));
    }
  }
}
