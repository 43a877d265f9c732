// The permitted ends of calls, depending on the disasters of their nodes (Q34). All other ends are findings.
import type { Told } from './clients.ts';
import type { Cluster } from './cluster.ts';
import type { Member, Span } from './member.ts';
import { hasLimits } from './settings.ts';

/**
 * How long after an outage a node may not have noticed that its database is back. It asks every second, and its connections have deadlines.
 */
const KNOWN_MS = 10_000;
/** How long rows and usage wait to be written on a busy machine. */
const WRITTEN_MS = 3_000;

/** The value of Retry-After without the database (Q34). Frames have none. */
const RETRY_AFTER = '5';
/** The statuses of answers to a client whose deadlines passed. */
const LATE: ReadonlySet<number> = new Set([408, 503, 504, 529]);

/** Whether the status is that of an overload, which is 529 on Messages (AM12). */
const isOverload = (status: number): boolean => status === 503 || status === 529;

const overlap = (one: Span, other: Span): boolean => one.from <= other.to && other.from <= one.to;

/** The periods in which the node could not rely on its database. */
const troubles = ({ outages, pulse }: Cluster, { cutOff }: Member): readonly Span[] =>
  [...outages, ...pulse.slow, ...cutOff].map(({ from, to }) => ({ from, to: to + KNOWN_MS }));

const inTrouble = (cluster: Cluster, { members, span }: Told): boolean =>
  members.some((member) => troubles(cluster, member).some((trouble) => overlap(trouble, span)));

/** Whether one of the call's processes ended before the call. */
const lostItsNode = ({ lives, span }: Told): boolean => lives.some(({ endedAt }) => endedAt <= span.to);

const pausedMs = ({ members, span }: Told): number => Math.max(...members.map((member) => member.pausedWithin(span)));

/** Shorter than the deadlines of a turn for its headers, its upstream connection, and its wait in a queue. */
const NOTICED_MS = 8_000;

/** The reason why the outcome is not a finding; undefined if it is one. */
export function excuseOf(cluster: Cluster, told: Told): string | undefined {
  const { outcome, call, span } = told;
  if (!outcome) return undefined;
  if (outcome.kind === 'whole') return 'whole';
  const wasPaused = pausedMs(told) > NOTICED_MS;
  if (outcome.kind === 'broken') {
    if (lostItsNode(told)) return 'its node ended';
    return wasPaused && outcome.how.includes('refused with 408') ? 'late at a paused node' : undefined;
  }
  if (lostItsNode(told)) return 'its node ended';
  const { status, code, retryAfter } = outcome;
  const limited = hasLimits(call.key);
  if (limited && status === 429 && code === 'rate_limit_exceeded') return 'refused by its limits';
  if (limited && isOverload(status) && code === 'server_is_overloaded' && (retryAfter ?? RETRY_AFTER) === RETRY_AFTER) {
    return inTrouble(cluster, told) || pausedMs(told) > 0 ? 'refused without the database' : undefined;
  }
  // Its deadlines passed while the node was paused. Headers that the node had not read leave no row.
  if (wasPaused && LATE.has(status)) return 'late at a paused node';
  // The slots of a node that died are free after 30 s.
  if (call.key === 'capped' && isOverload(status) && code === 'server_is_overloaded' && span.from < cluster.slotsBackAt)
    return 'refused without slots';
  if (call.key === 'login' && status >= 500) return cluster.loginsInDoubt ? 'its log-ins are lost' : undefined;
  return undefined;
}

/** Whether nothing happened to any node during the call. */
export const wasUndisturbed = (cluster: Cluster, { span }: Told): boolean =>
  cluster.members.every(
    (member) =>
      member.pausedWithin({ from: span.from - KNOWN_MS, to: span.to }) === 0 &&
      !troubles(cluster, member).some((trouble) => overlap(trouble, span)) &&
      !member.lives.some(({ endedAt }) => endedAt > span.from - KNOWN_MS && endedAt <= span.to),
  );

/** Whether the rows and usage of a call may be lost, because its process was killed before it wrote them. */
export function mayBeLost(cluster: Cluster, { lives, members, span }: Told): boolean {
  return lives.some((life, i) => {
    const member = members[i];
    if (!life.killed || !member) return false;
    let from = life.endedAt - WRITTEN_MS;
    // Rows that could not be written in an outage wait in memory.
    for (const trouble of troubles(cluster, member).toSorted((one, other) => other.from - one.from)) {
      if (trouble.to > from && trouble.from < life.endedAt) from = Math.min(from, trouble.from - WRITTEN_MS);
    }
    return span.to > from;
  });
}
