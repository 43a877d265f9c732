// Checks that three records of turns agree: the answers that clients got, the provider's record, and the rows and usage in the database.
import type { Told } from './clients.ts';
import type { Cluster } from './cluster.ts';
import { mayBeLost } from './excuses.ts';
import type { Round } from './invariants.ts';
import type { Dispatch } from './provider-record.ts';

export const nameOf = ({ call: { number, kind, key }, lives }: Told): string =>
  `call ${number} (${kind} of ${key} at ${lives.map(({ node }) => node).join(', then ')})`;

export const byCall = (all: readonly Dispatch[]): ReadonlyMap<number, readonly Dispatch[]> => Map.groupBy(all, ({ call }) => call);

export const admitted = ({ record }: Cluster): readonly Dispatch[] => record.dispatches.filter(({ isUnauthorised }) => !isUnauthorised);

const STORED = '(SELECT count(*) FROM attempts WHERE request_id = requests.id)';

/** The number of dispatches of a row's turn. If the turn succeeded at once, its attempt is not stored. */
const ATTEMPTS = `(CASE WHEN ${STORED} = 0 AND account IS NOT NULL AND retries = 0 AND status < 300 AND outcome = 'completed' THEN 1 ELSE ${STORED} END)`;

/** The number of dispatches whose token had not expired. An expired token on a websocket fails the upgrade, which is no turn at the provider. */
const ADMITTED = `(${ATTEMPTS} - (SELECT count(*) FROM attempts AS tried WHERE request_id = requests.id AND tried.status = 401))`;

/** The number of attempts without an answer, which may not have reached the provider. */
const UNANSWERED = '(SELECT count(*) FROM attempts AS silent WHERE request_id = requests.id AND silent.status IS NULL)';

/** Checks that answers over HTTP have their row, with the status and usage that the client saw, and an attempt for each dispatch. */
export async function rowsAsTold({ cluster, told, since }: Round): Promise<readonly string[]> {
  const records = await cluster.query(
    `SELECT id, status, outcome, input_tokens, output_tokens, ${ADMITTED} AS attempts, ${UNANSWERED} AS unanswered FROM requests WHERE at >= ${since}`,
  );
  const rows = new Map(records.map((row) => [String(row.id), row]));
  const calls = byCall(admitted(cluster));
  return told.flatMap((one) => {
    const { outcome, call } = one;
    if (!outcome || outcome.kind === 'broken' || outcome.requestId === undefined || mayBeLost(cluster, one)) return [];
    if (outcome.kind === 'refused' && outcome.status === 408) return [];
    const row = rows.get(outcome.requestId);
    if (!row) return [`${nameOf(one)} has no row (${JSON.stringify(outcome)})`];
    const sent = calls.get(call.number)?.length ?? 0;
    if (sent > Number(row.attempts) || sent < Number(row.attempts) - Number(row.unanswered))
      return [`${nameOf(one)} was dispatched ${sent} times and has ${row.attempts} attempts`];
    const status = outcome.kind === 'whole' ? 200 : outcome.status;
    if (Number(row.status) !== status) return [`${nameOf(one)} was told ${status}, its row says ${row.status}`];
    const usage = outcome.kind === 'whole' ? outcome.usage : undefined;
    if (usage && (Number(row.input_tokens) !== usage[0] || Number(row.output_tokens) !== usage[1]))
      return [`${nameOf(one)} used ${usage}, its row says ${row.input_tokens},${row.output_tokens}`];
    return [];
  });
}

/** Checks the attempts of all calls, including those on websockets. */
export async function attemptsAsDispatched({ cluster, told, since }: Round): Promise<readonly string[]> {
  const [row] = await cluster.query(`SELECT sum(${ADMITTED}) AS sum, sum(${UNANSWERED}) AS unanswered FROM requests WHERE at >= ${since}`);
  const written = Number(row?.sum);
  const lost = new Set(told.filter((one) => mayBeLost(cluster, one)).map(({ call }) => call.number));
  const all = admitted(cluster).length;
  const least = admitted(cluster).filter(({ call }) => !lost.has(call)).length;
  cluster.turns += told.length;
  if (written >= least && written - Number(row?.unanswered) <= all) return [];
  const failed = await cluster.query(
    `SELECT account, cause, status, error_class, count(*)::int AS count FROM attempts WHERE at >= ${since} AND status IS DISTINCT FROM 200 GROUP BY 1, 2, 3, 4`,
  );
  const which = `; those that failed: ${JSON.stringify(failed)}`;
  return [`the provider had ${all} dispatches, ${all - least} of them by killed nodes; ${written} attempts have rows${which}`];
}

/** More tokens than a turn uses. */
const TURN_TOKENS = 2_000;

/** Checks that the usage of each key is the sum of its rows, except for turns whose process was killed between the two writes. */
export async function usageAsRows({ cluster, told }: Round): Promise<readonly string[]> {
  for (const one of told) if (mayBeLost(cluster, one)) cluster.lost.set(one.call.key, (cluster.lost.get(one.call.key) ?? 0) + 1);
  const rows =
    await cluster.query(`SELECT key_id, count(*) AS requests, sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0)) AS tokens
    FROM requests WHERE ${ATTEMPTS} > 0 GROUP BY key_id`);
  const settled = await cluster.query(
    'SELECT key_id, sum(requests) AS requests, sum(input_tokens + output_tokens) AS tokens FROM usage GROUP BY key_id',
  );
  return rows.flatMap(({ key_id, requests, tokens }) => {
    const own = settled.find((row) => row.key_id === key_id);
    const lost = cluster.lost.get(String(key_id)) ?? 0;
    const [turns, used] = [Number(own?.requests) - Number(requests), Number(own?.tokens) - Number(tokens)];
    const equal = Math.abs(turns) <= lost && Math.abs(used) <= lost * TURN_TOKENS;
    return equal
      ? []
      : [`usage of ${key_id}: ${own?.requests} turns, ${own?.tokens} tokens; its rows: ${requests}, ${tokens}; ${lost} of killed nodes`];
  });
}
