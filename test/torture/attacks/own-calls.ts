// The gateway's own requests to accounts (catalogs, tokens and usage), which are broken at every byte or get hostile answers.
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

/** The size of each answer. A catalog has 14 KB including its head. */
const BYTES: Readonly<Record<OwnCall, number>> = { catalog: 14_000, token: 450, usage: 700 };

export const ownCalls: Attack = {
  name: 'own-calls',
  title: 'catalogs, tokens and usage broken at each byte, or answered falsely',
  stage: 'logins',
  lanes: 1,
  sample: 8,
  // A refused login is logged.
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
      // Faults for which the gateway waits are rare here.
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
/** The interval of reads at an account whose reads fail. */
const STALE_MS = 41 * 60_000;

/** The longest wait of the gateway for a token. */
const TOKEN_MS = 15_000;

const native = callNamed('native');

/** A turn whose account has to refresh its token first. The turn gets one answer, and the account needs another login at worst. */
async function refreshed(lane: Lane, stage: Stage, plan: Plan): Promise<void> {
  await lane.restore();
  for (const account of lane.accounts) stage.upstream.loginOf(account).expire();
  await runCall(lane, native, { plan, said: 'spoilt', patienceMs: TOKEN_MS });
  lane.exchanges.next();
  const { accounts } = await stage.adminJson('/api/status');
  for (const { account, status } of accounts as { account: string; status: string }[]) {
    // A token is lost if it was used up by an exchange whose reply was lost.
    if (status === 'reauth_required' || plan.answer) await logIn(stage, account);
  }
  await recovers(lane, stage);
}

/** A catalog that is read again. Its former entries stay. */
async function reread(lane: Lane, stage: Stage, plan: Plan): Promise<void> {
  lane.exchanges.next(plan);
  const { status } = await stage.admin('/api/reload', 'POST');
  expect(status === 200, () => `the reload was answered ${status}`);
  lane.exchanges.next();
  await recovers(lane, stage);
}

/** Usage that is read again, because evidence is stale. Checks limit what the result of a read can be. */
async function remeasured(lane: Lane, stage: Stage, plan: Plan): Promise<void> {
  // Logged in first, because an account whose token was lost in an earlier case is not asked.
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

/** Checks that the accounts serve again, after another login if the provider has used up the token. A refresh that hangs ends first. */
async function recovers(lane: Lane, stage: Stage): Promise<void> {
  const served = async (): Promise<true | undefined> => {
    await lane.endCooldowns();
    const { kind } = await runCall(lane, native, { said: 'spoilt', patienceMs: TOKEN_MS });
    if (kind === 'whole') return true;
    for (const account of lane.accounts) await logIn(stage, account);
    return undefined;
  };
  await until('a turn behind another log-in', served, 2 * TOKEN_MS);
}
