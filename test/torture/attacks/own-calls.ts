// The gateway's own requests to accounts, broken at every byte or answered with hostile answers: catalogs, tokens and usage.
import type { SeededRandom } from '../../simulation/seeded-random.ts';
import { until } from '../../support/until.ts';
import { type Attack, type Case, permutation, pick } from '../attack.ts';
import { callNamed } from '../calls/http-calls.ts';
import { runCall } from '../calls/run-call.ts';
import { HOSTILE_ANSWERS } from '../corpus/hostile-answers.ts';
import { expect } from '../finding.ts';
import type { Lane } from '../stage/lane.ts';
import { logIn } from '../stage/logins.ts';
import type { Stage } from '../stage/stage.ts';
import type { OwnCall, Plan } from '../wire/exchanges.ts';
import { WIRE_FAULTS } from '../wire/faulty-writer.ts';

/** The target of each case. */
const OWN: readonly OwnCall[] = ['token', 'token', 'catalog', 'usage'];

const QUICK_FAULTS = ['cut', 'reset', 'corrupt', 'part'] as const;

/** Of the catalog: 14 KB with its head. */
const BYTES: Readonly<Record<OwnCall, number>> = { catalog: 14_000, token: 450, usage: 700 };

export const ownCalls: Attack = {
  name: 'own-calls',
  title: 'catalogs, tokens and usage broken at each byte, or answered falsely',
  stage: 'logins',
  lanes: 1,
  sample: 8,
  // A refused log-in is one.
  allows: { logged: ['credential_refused'] },
  async cases(_stage, random) {
    return casesOf(random);
  },
};

function* casesOf(random: SeededRandom): Generator<Case> {
  for (const number of permutation(1_000_000, random)) {
    const own = pick(OWN, random);
    if (random.next() < 0.3) {
      const { name, answer } = pick(HOSTILE_ANSWERS, random);
      yield caseOf(`${number}:${own}:${name}`, own, { exchange: own, answer });
    } else {
      // A reply that does not end is waited for.
      const kind = pick(random.next() < 0.1 ? WIRE_FAULTS : QUICK_FAULTS, random);
      const at = Math.floor(random.between(0, BYTES[own]));
      const byte = Math.floor(random.between(0, 256));
      yield caseOf(`${number}:${own}:${kind}:${at}:${byte}`, own, { exchange: own, fault: { kind, at, byte } });
    }
  }
}

const caseOf = (name: string, own: OwnCall, plan: Plan): Case => ({
  name,
  run: (lane, stage) => RUNS[own](lane, stage, plan),
});

const USAGE = '/backend-api/meter/usage';
/** The interval of an account whose reads fail. */
const STALE_MS = 41 * 60_000;

/** The gateway waits so long for a token. */
const TOKEN_MS = 15_000;

const native = callNamed('native');

/** A turn whose account must refresh its token first: it gets one answer, and the account another log-in at the worst. */
async function refreshed(lane: Lane, stage: Stage, plan: Plan): Promise<void> {
  await lane.restore();
  for (const account of lane.accounts) stage.upstream.loginOf(account).expire();
  await runCall(lane, native, { plan, said: 'spoilt', patienceMs: TOKEN_MS });
  lane.exchanges.next();
  const { accounts } = await stage.adminJson('/api/status');
  for (const { account, status } of accounts as { account: string; status: string }[]) {
    // A token that was spent on a reply that was lost is lost.
    if (status === 'reauth_required' || plan.answer) await logIn(stage, account);
  }
  await recovers(lane, stage);
}

/** A catalog that is read again: its former entries stay. */
async function reread(lane: Lane, stage: Stage, plan: Plan): Promise<void> {
  lane.exchanges.next(plan);
  const { status } = await stage.admin('/api/reload', 'POST');
  expect(status === 200, () => `the reload was answered ${status}`);
  lane.exchanges.next();
  await recovers(lane, stage);
}

/** Usage that is read again: evidence is stale. The result of a read is bounded by the checks on it. */
async function remeasured(lane: Lane, stage: Stage, plan: Plan): Promise<void> {
  // An account whose token was spent in an earlier case is not asked.
  for (const account of lane.accounts) await logIn(stage, account);
  const before = lane.exchanges.own.length;
  const isRead = (): true | undefined => lane.exchanges.own.slice(before).some(({ path }) => path === USAGE) || undefined;
  lane.exchanges.next(plan);
  await stage.program.passTime(STALE_MS);
  await stage.reconfigure();
  await until('a usage read', isRead, TOKEN_MS);
  lane.exchanges.next();
  await recovers(lane, stage);
}

const RUNS: Readonly<Record<OwnCall, (lane: Lane, stage: Stage, plan: Plan) => Promise<void>>> = {
  token: refreshed,
  catalog: reread,
  usage: remeasured,
};

/** With another log-in where the provider has spent the token, the accounts serve again; a refresh that hangs ends first. */
async function recovers(lane: Lane, stage: Stage): Promise<void> {
  const served = async (): Promise<true | undefined> => {
    await lane.heal();
    const { kind } = await runCall(lane, native, { said: 'spoilt', patienceMs: TOKEN_MS });
    if (kind === 'whole') return true;
    for (const account of lane.accounts) await logIn(stage, account);
    return undefined;
  };
  await until('a turn behind another log-in', served, 2 * TOKEN_MS);
}
