// Writes the state of the gateway as text for 80 columns: accounts with their quota, Pools, busy classes, counters.
import type { LimitedAccount, StatusReply } from '../../admin/replies/status-reply.ts';
import { unlistedAccounts } from '../../admin/replies/unlisted-accounts.ts';
import { cell, timeSpan } from './text-cells.ts';

type NodeStatus = NonNullable<StatusReply['sharing']>['nodes'][number];
type QuotaStatus = StatusReply['quota'][number];
type WindowStatus = QuotaStatus['windows'][number];

const WIDTH = 80;
/** The widths of account, state, in flight, quota and cause. With two spaces between them they fill 80 columns. */
const ACCOUNT_WIDTHS = [14, 16, 9, 23, 10] as const;
const BAR_WIDTH = 7;

export function statusLines(status: StatusReply): readonly string[] {
  const { accounts, quota } = status;
  const quotas = new Map(quota.map((one) => [one.account, one]));
  return [
    headLine(status),
    ...(status.reload_refused ? ['THE LAST RELOAD WAS REFUSED: `poolgate check` and the log have the reason'] : []),
    ...storeLines(status),
    '',
    row(ACCOUNT_WIDTHS, ['ACCOUNT', 'STATE', 'IN FLIGHT', 'QUOTA LEFT, RESET IN', 'LAST CAUSE']),
    ...accounts.flatMap((account) => accountLines(account, quotas.get(account.account), status)),
    '',
    ...poolLines(status),
    '',
    ...nodeLines(status),
    ...classLines(status),
    ...counterLines(status),
  ];
}

function headLine({ version, now, started_at, ready, node }: StatusReply): string {
  const up = timeSpan(now - Date.parse(started_at));
  return cell(`poolgate on ${version}, ${ready ? 'ready' : 'NOT READY'}, up ${up}, node ${node}`, WIDTH);
}

/** The lines about the store. Empty while the store works. */
function storeLines({ store, now }: StatusReply): readonly string[] {
  const lines: string[] = [];
  if (store.failing_since !== null)
    lines.push(`STORE NOT WRITABLE for ${timeSpan(now - store.failing_since)}: ${store.queued} rows wait; the log has the reason`);
  if (store.in_use) lines.push('ANOTHER GATEWAY HAS THE DATABASE: each of the two counts limits separately');
  return lines.map((line) => cell(line, WIDTH));
}

function accountLines(account: LimitedAccount, quota: QuotaStatus | undefined, status: StatusReply): readonly string[] {
  const { inFlight, maxConcurrent, cooldown, lastFailure, models } = account;
  const windows = quota?.windows ?? [];
  const [first = 'unknown', ...others] = windows.map((window) => windowText(window, status.now));
  const cause = cooldown?.cause ?? lastFailure?.cause ?? '-';
  return [
    row(ACCOUNT_WIDTHS, [account.account, stateOf(account, quota, status), `${inFlight}/${maxConcurrent}`.padStart(9), first, cause]),
    ...others.map((text) => row(ACCOUNT_WIDTHS, ['', '', '', text, ''])),
    ...Object.entries(models).map(([model, { phase, cause: why = '-', until }]) =>
      cell(`  ${model}: ${phaseText(phase, until, status.now)}, ${why}`, WIDTH),
    ),
    ...noteLines(account, status),
  ];
}

/** Notes about an account: whether it lacks the compact path, and whether the last read of its model list failed. */
function noteLines({ account, compaction }: LimitedAccount, { catalogs, now }: StatusReply): readonly string[] {
  const missing = compaction.missingSince;
  const failure = catalogs.find((catalog) => catalog.account === account)?.failure;
  return [
    ...(missing === undefined ? [] : [`  no compact path, found ${timeSpan(now - missing)} ago: compacts with turns`]),
    ...(failure === undefined ? [] : [`  last read of its model list failed: ${failure}`]),
  ].map((line) => cell(line, WIDTH));
}

/** The reason why an account gets no turns, in one or two words. Of several reasons the strongest is shown. */
function stateOf(
  { account, status, cooldown, paused, visible }: LimitedAccount,
  quota: QuotaStatus | undefined,
  { catalogs, now, pools }: StatusReply,
): string {
  if (status === 'reauth_required') return 'login required';
  if (paused) return 'paused';
  if (!visible) return 'hidden';
  const mine = pools.filter(({ accounts }) => accounts.includes(account));
  if (mine.length === 0) return 'in no Pool';
  if (!mine.some(({ assigned }) => assigned.includes(account))) return 'not assigned';
  if (quota?.status === 'exhausted') return quota.until === null ? 'out of quota' : `no quota ${timeSpan(quota.until - now)}`;
  if (cooldown) return phaseText(cooldown.phase, cooldown.until, now);
  if (unlistedAccounts(catalogs).has(account)) return 'no models';
  return quota?.status === 'reserved' ? 'reserved' : status;
}

function phaseText(phase: 'cooling' | 'due' | 'probing', until: number | undefined, now: number): string {
  if (phase === 'cooling') return until === undefined ? 'cooling' : `cooling ${timeSpan(until - now)}`;
  return phase === 'due' ? 'probe is due' : 'probing';
}

/** A quota window, such as `5h  ██████░  90%  1h05m`: its length, what is left, and the time to its reset. */
function windowText({ seconds, used_percent, resets_at }: WindowStatus, now: number): string {
  const left = Math.min(100, Math.max(0, 100 - used_percent));
  const filled = Math.round((left / 100) * BAR_WIDTH);
  const bar = '█'.repeat(filled).padEnd(BAR_WIDTH, '░');
  const reset = resets_at === null ? '' : timeSpan(resets_at * 1000 - now);
  return `${lengthOf(seconds).padEnd(3)} ${bar} ${`${Math.floor(left)}%`.padStart(4)} ${reset.padStart(6)}`;
}

/** The length of a window in whole days or hours, three columns wide. */
function lengthOf(seconds: number): string {
  if (seconds >= 86_400) return `${Math.round(seconds / 86_400)}d`;
  return seconds >= 3_600 ? `${Math.round(seconds / 3_600)}h` : `${Math.round(seconds / 60)}m`;
}

const POOL_WIDTHS = [20, 14, 42] as const;

function poolLines({ accounts, catalogs, pools, quota }: StatusReply): readonly string[] {
  const refused = new Set([
    ...accounts.flatMap(({ account, status, cooldown, paused, visible }) =>
      paused || !visible || status !== 'active' || cooldown ? account : [],
    ),
    ...quota.flatMap(({ account, status }) => (status === 'exhausted' ? account : [])),
    ...unlistedAccounts(catalogs),
  ]);
  return [
    row(POOL_WIDTHS, ['POOL', 'STRATEGY', 'ACCOUNTS THAT TAKE TURNS']),
    ...pools.map(({ pool, strategy, accounts: all, assigned }) => {
      const takes = assigned.filter((account) => !refused.has(account));
      return row(POOL_WIDTHS, [pool, strategy, `${takes.length} of ${all.length}: ${takes.join(' ') || 'NO ACCOUNT TAKES TURNS'}`]);
    }),
  ];
}

/** The widths of node, state, slots, leases, version and digest of the configuration. They fill 80 columns. */
const NODE_WIDTHS = [24, 14, 6, 6, 8, 12] as const;

/** The lines about nodes. Empty if the store has one node. */
function nodeLines({ sharing, now }: StatusReply): readonly string[] {
  if (!sharing) return [];
  const { nodes, store, feed, settlements_waiting, standing } = sharing;
  const lease = standing === 'member' ? '' : standing === 'cut_off' ? ', its lease has expired' : ', it may have lost its lease';
  return [
    row(NODE_WIDTHS, ['NODE', 'STATE', ' SLOTS', 'LEASES', 'VERSION', 'CONFIG']),
    ...nodes.flatMap((node) => [
      row(NODE_WIDTHS, [
        node.node,
        nodeState(node, now),
        `${node.slots}`.padStart(6),
        `${node.leases}`.padStart(6),
        node.version,
        node.config,
      ]),
      ...(node.address === null ? [] : [cell(`  ${node.address}`, WIDTH)]),
    ]),
    cell(`this node: store ${store}, feed ${feed}, ${settlements_waiting} settlements wait${lease}`, WIDTH),
    '',
  ];
}

function nodeState({ state, differs, lease_until }: NodeStatus, now: number): string {
  if (state === 'dead') return `dead ${timeSpan(now - lease_until)}`;
  if (state === 'this') return 'this node';
  return differs ? 'config differs' : 'alive';
}

/** The lines of classes in which turns run or wait. */
function classLines({ admission }: StatusReply): readonly string[] {
  const busy = Object.entries(admission).filter(([, { running, waiting }]) => running > 0 || waiting > 0);
  const texts = busy.map(([name, { running, waiting, limits }]) => {
    return `${name} ${running}/${limits.running} running, ${waiting}/${limits.waiting} waiting`;
  });
  return texts.length === 0 ? ['no turn runs or waits'] : texts;
}

/** Counters that are shown even if they are 0. */
const MAIN_COUNTERS: ReadonlySet<string> = new Set(['turns', 'attempts', 'retries']);

/** The lines of all counters that are not 0. */
function counterLines({ counters }: StatusReply): readonly string[] {
  const lines: string[] = [];
  for (const [name, value] of Object.entries(counters)) {
    if (value === 0 && !MAIN_COUNTERS.has(name)) continue;
    const text = `${name} ${value}`;
    const last = lines.at(-1);
    if (last !== undefined && last.length + 2 + text.length <= WIDTH) lines[lines.length - 1] = `${last}  ${text}`;
    else lines.push(text);
  }
  return lines;
}

const row = (widths: readonly number[], cells: readonly string[]): string =>
  cells
    .map((text, i) => cell(text, widths[i] ?? WIDTH).padEnd(widths[i] ?? 0))
    .join('  ')
    .trimEnd();
