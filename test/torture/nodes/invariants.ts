// The invariants when clients have stopped and the nodes are at rest, whatever was done to them (Q34). Each check returns the violations in
// words.
import { migrations } from '../../../store/schema/migrations.ts';
import type { Told } from './clients.ts';
import type { Cluster } from './cluster.ts';
import { excuseOf, wasUndisturbed } from './excuses.ts';
import { writtenBy } from './member.ts';
import { peakOf } from './provider-record.ts';
import { admitted, attemptsAsDispatched, byCall, nameOf, rowsAsTold, usageAsRows } from './recorded-turns.ts';
import { CAPPED_ACCOUNT, KEYS, MOST_CONCURRENT, REQUESTS_PER_MINUTE } from './settings.ts';

export interface Round {
  readonly cluster: Cluster;
  readonly told: readonly Told[];
  /** Unix milliseconds. Rows of the round are at least this new. */
  readonly since: number;
  /** Whether a node may have used something that others had already, because it was paused or cut off for longer than its lease. */
  readonly outlivedLeases: boolean;
  /** Whether the owner of a session could not be found in time, on a busy machine or without the database. */
  readonly ownersUnknown: boolean;
}

type Check = (round: Round) => Promise<readonly string[]> | readonly string[];

/** The most findings of one kind that are printed. */
const MOST_TOLD = 5;

export async function brokenInvariants(round: Round): Promise<readonly string[]> {
  const checks: readonly Check[] = [
    ends,
    dispatches,
    rowsAsTold,
    attemptsAsDispatched,
    usageAsRows,
    nothingReserved,
    noOrphans,
    bounds,
    tokensOnce,
    logs,
    migratedOnce,
  ];
  const broken: string[] = [];
  for (const check of checks) {
    try {
      broken.push(...(await check(round)).slice(0, MOST_TOLD));
    } catch (thrown) {
      broken.push(`${check.name}: ${thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)}`);
    }
  }
  return broken;
}

/** Checks that every call ended in a permitted way. */
function ends({ cluster, told }: Round): readonly string[] {
  return told
    .filter((one) => excuseOf(cluster, one) === undefined)
    .map((one) => {
      const { outcome, span } = one;
      const took = Math.round(span.to - span.from);
      if (!outcome) return `${nameOf(one)} had no end after ${took} ms`;
      return `${nameOf(one)} ended after ${took} ms at ${Math.round(span.to)}: ${JSON.stringify(outcome)}`;
    });
}

/** The most dispatches of a turn: one to each account, and one more with another token, by two nodes. */
const MOST_DISPATCHES = 6;

/** Checks that an undisturbed turn is sent once, unless its client reconnected to a node that could not find its owner. */
async function dispatches({ cluster, told, ownersUnknown }: Round): Promise<readonly string[]> {
  const [calls, all] = [byCall(admitted(cluster)), byCall(cluster.record.dispatches)];
  return told.flatMap((one) => {
    const { number } = one.call;
    const [sent, tried] = [calls.get(number)?.length ?? 0, all.get(number)?.length ?? 0];
    const most = wasUndisturbed(cluster, one) && !(ownersUnknown && one.lives.length > 1) ? 1 : MOST_DISPATCHES;
    if (sent <= most && tried <= MOST_DISPATCHES) return [];
    const after = (at: number | undefined): string => (at === undefined ? '' : `${Math.round(at - one.span.from)}`);
    const list = all.get(number)?.map(({ account, at, end }) => `${account} ${after(at)} to ${after(end?.at)} ms ${end?.how}`);
    return [`${nameOf(one)}, from ${Math.round(one.span.from)}, was dispatched ${tried} times: ${list?.join(', ')}`];
  });
}

const listed = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(', ');

/** Checks that no running process has reservations, and that no account has more slots in use than it has. */
async function nothingReserved({ cluster }: Round): Promise<readonly string[]> {
  const living = listed(cluster.members.map(({ life }) => life.node));
  const grants = await cluster.query(
    `SELECT key_id, count(*) AS count FROM key_grants WHERE node IN (SELECT token FROM nodes WHERE id IN (${living})) GROUP BY key_id`,
  );
  const slots = await cluster.query(
    `SELECT account, sum(held) AS held FROM slots WHERE account = '${CAPPED_ACCOUNT}'
     AND node IN (SELECT token FROM nodes WHERE expires_at > extract(epoch FROM clock_timestamp()) * 1000) GROUP BY account`,
  );
  return [
    ...grants.map(({ key_id, count }) => `${count} turns of ${key_id} are still reserved`),
    ...slots.flatMap(({ account, held }) => (Number(held) > MOST_CONCURRENT.account ? [`${held} slots of ${account} are held`] : [])),
  ];
}

/** Checks that attempts have their request, days of usage their key, and leases their node. */
async function noOrphans({ cluster }: Round): Promise<readonly string[]> {
  const living = listed(cluster.members.map(({ life }) => life.node));
  const now = '(extract(epoch FROM clock_timestamp()) * 1000)';
  const count = async (what: string, sql: string): Promise<readonly string[]> => {
    const [row] = await cluster.query(sql);
    return Number(row?.count) === 0 ? [] : [`${row?.count} ${what}`];
  };
  return [
    ...(await count('attempts without a request', 'SELECT count(*) FROM attempts WHERE request_id NOT IN (SELECT id FROM requests)')),
    ...(await count('days of usage of no key', `SELECT count(*) FROM usage WHERE key_id NOT IN (${listed(Object.keys(KEYS))})`)),
    ...(await count('sessions leased for longer than 46 s', `SELECT count(*) FROM session_owners WHERE expires_at > ${now} + 46000`)),
    ...(await count('nodes leased for longer than 31 s', `SELECT count(*) FROM nodes WHERE expires_at > ${now} + 31000`)),
    ...(await count(
      'leases of processes that ended 31 s ago',
      `SELECT count(*) FROM leases WHERE expires_at > ${now} AND split_part(owner, '/', 1) NOT IN (${living})
       AND split_part(owner, '/', 1) IN (SELECT id FROM nodes WHERE expires_at < ${now} - 90000)`,
    )),
  ];
}

/** How long more turns than allowed must run before they count, because sockets are not read in the order in which they were written. */
const LASTING_MS = 250;
/** Shorter than a minute, because turns of the first seconds may arrive late. */
const WINDOW_MS = 55_000;

function bounds({ cluster, outlivedLeases }: Round): readonly string[] {
  const { dispatches: all } = cluster.record;
  const allowed = (most: number): number => (outlivedLeases ? 2 * most : most);
  const account = peakOf(
    all.filter((one) => one.account === CAPPED_ACCOUNT),
    LASTING_MS,
  );
  const key = peakOf(
    all.filter((one) => one.key === 'few'),
    LASTING_MS,
  );
  for (const one of all) if (one.key === 'minute') cluster.minute.push(one.at);
  let most = 0;
  for (let [from, to] = [0, 0]; to < cluster.minute.length; to++) {
    while ((cluster.minute[to] ?? 0) - (cluster.minute[from] ?? 0) > WINDOW_MS) from++;
    most = Math.max(most, to - from + 1);
  }
  cluster.note('turns of a minute', { value: most, of: `of ${REQUESTS_PER_MINUTE} allowed` });
  cluster.note('turns at once at an account', { value: account, of: `of ${MOST_CONCURRENT.account} allowed` });
  cluster.note('turns at once of a key', { value: key, of: `of ${MOST_CONCURRENT.key} allowed` });
  return [
    ...(account > allowed(MOST_CONCURRENT.account) ? [`${account} turns at once at ${CAPPED_ACCOUNT}`] : []),
    ...(key > allowed(MOST_CONCURRENT.key) ? [`${key} turns at once of few`] : []),
    ...(most > REQUESTS_PER_MINUTE ? [`${most} turns of minute within ${WINDOW_MS} ms`] : []),
  ];
}

const tokensOnce = ({ cluster }: Round): readonly string[] =>
  cluster.record.spentTwice.map((token) => `a refresh token was sent twice: ${token}`);

/** Errors that processes log because of the disasters. */
const EXPECTED: ReadonlySet<string> = new Set(['settlements_lost', 'audit_failed']);

function logs({ cluster }: Round): readonly string[] {
  const expected = (event: string): boolean => EXPECTED.has(event) || (event === 'credential_refused' && cluster.loginsInDoubt);
  return cluster.members.flatMap(({ lives }) =>
    lives.flatMap((life) => {
      const { log, other } = writtenBy(life);
      const errors = log.filter(({ level, event }) => level === 'error' && !expected(event)).map((line) => JSON.stringify(line));
      const all = [...errors, ...other.map((line) => `on stderr: ${line}`)];
      const news = all.slice(cluster.reported.get(life) ?? 0);
      cluster.reported.set(life, all.length);
      const died = life.endedAt !== Number.POSITIVE_INFINITY && !life.wasEnded ? [`${life.node} ended by itself`] : [];
      return [...died, ...news.map((line) => `${life.node}: ${line}`)];
    }),
  );
}

async function migratedOnce({ cluster }: Round): Promise<readonly string[]> {
  const versions = (await cluster.query('SELECT version FROM schema_version ORDER BY version')).map(({ version }) => Number(version));
  return versions.length === migrations.length && versions.every((version, i) => version === i + 1) ? [] : [`schema versions: ${versions}`];
}
