// The name of a node, which only one process may have. A process that starts waits for the end of an older lease, and reports the wait in the
// log.
import type { Joined, NodeRow } from '../../store/store.ts';
import type { Log } from '../base/process/log.ts';
import type { Clock } from '../base/time/clock.ts';

/** The interval of tries while another process has the name. */
const RETRY_MS = 1_000;
/** The interval of a timer that only keeps the process alive. */
const ALIVE_MS = 30_000;

/** Another process has the node's name. The message is for the operator. */
class NodeNameTaken extends Error {
  override readonly name = 'NodeNameTaken';
}

/**
 * The first lease of a process. If another process has the name, waits for the end of its lease. If that lease is renewed during the wait,
 * the other process is alive.
 * @throws NodeNameTaken
 */
export async function firstLease(
  join: () => Promise<Joined>,
  { clock, log }: { readonly clock: Pick<Clock, 'after'>; readonly log: Log },
): Promise<NodeRow> {
  // Keeps the process alive, which the clock's timers do not.
  const alive = setInterval(() => undefined, ALIVE_MS);
  try {
    for (let lastSeen: number | undefined; ; ) {
      const answer = await join();
      if ('joined' in answer) return answer.joined;
      const { id, expires_at } = answer.taken;
      if (lastSeen === undefined) log.warn('node_name_in_use', { node: id, message: waitMessage(expires_at) });
      else if (expires_at > lastSeen) throw new NodeNameTaken(takenMessage(answer.taken));
      lastSeen = expires_at;
      await new Promise<void>((resolve) => clock.after(RETRY_MS, resolve));
    }
  } finally {
    clearInterval(alive);
  }
}

const waitMessage = (until: number): string =>
  `a process with this name ended without a stop, or runs: the start waits for the end of its lease, until ${new Date(until).toISOString()} at the latest`;

export function takenMessage({ id, address, started_at, version }: NodeRow): string {
  const place = address === null ? '' : ` at ${address}`;
  const since = new Date(started_at).toISOString();
  return `a node named ${id} is running already${place} (poolgate ${version}, since ${since}): give this process another node.id`;
}
