// Waits until no node does anything or waits for anything, and logs accounts in again whose tokens were lost.
import { until } from '../../support/until.ts';
import type { Cluster } from './cluster.ts';
import type { Member } from './member.ts';
import { LOGINS } from './settings.ts';

/** The longest wait on a busy machine. Turns wait 20 s for an account, writes up to 2 s between tries, and a feed 5 s. */
const REST_MS = 90_000;

/** Resolves with the parts that are not at rest at the deadline. */
export async function comesToRest(cluster: Cluster): Promise<readonly string[]> {
  let state: readonly string[] = [];
  const probe = async (): Promise<true | undefined> => {
    state = (await Promise.all(cluster.members.map((member) => busyAt(cluster, member)))).flat();
    return state.length === 0 || undefined;
  };
  return until('rest', probe, REST_MS).then(
    () => [],
    () => state.map((what) => `not at rest: ${what}`),
  );
}

async function busyAt(cluster: Cluster, member: Member): Promise<readonly string[]> {
  const { node } = member.life;
  const status = await member.status().catch((error: Error) => error);
  if (status instanceof Error) return [`${node} does not answer: ${status.message}`];
  const { accounts, admission, sharing, store } = status;
  const alive = sharing.nodes.flatMap((one: { node: string; state: string }) => (one.state === 'dead' ? [] : [one.node]));
  const missing = cluster.members.filter(({ life }) => !alive.includes(life.node)).map(({ life }) => life.node);
  const facts: Readonly<Record<string, unknown>> = {
    ...Object.fromEntries(accounts.map((one: { account: string; inFlight: number }) => [`in flight at ${one.account}`, one.inFlight])),
    ...Object.fromEntries(
      Object.entries<{ running: number; waiting: number }>(admission).map(([name, { running, waiting }]) => [
        `admitted as ${name}`,
        running + waiting,
      ]),
    ),
    'settlements waiting': sharing.settlements_waiting,
    'rows queued': store.queued,
    'without its database': sharing.store === 'reachable' ? 0 : sharing.store,
    'no member': sharing.standing === 'member' ? 0 : sharing.standing,
    'without its feed': sharing.feed === 'connected' ? 0 : sharing.feed,
    'does not see': missing.length === 0 ? 0 : missing,
  };
  return Object.entries(facts).flatMap(([name, value]) => (value === 0 ? [] : [`${node}: ${name}: ${value}`]));
}

/**
 * Logs every account in again if a refresh may have been lost with its process.
 * @returns accounts that need a login without such a reason
 */
export async function logInAgain(cluster: Cluster): Promise<readonly string[]> {
  if (cluster.loginsInDoubt) {
    for (const account of LOGINS) await cluster.logIn(account);
    return [];
  }
  const { accounts } = await cluster.memberAt(0).status();
  return accounts.flatMap(({ account, status }: { account: string; status: string }) =>
    status === 'reauth_required' ? [`the log-in of ${account} is lost`] : [],
  );
}
