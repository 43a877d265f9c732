// The queues and records of the tests' upstream: scripts for coming requests, requests that came, and tests that wait for them.
import type { Fault } from '../../proxy/rehearsal/faults/fault.ts';
import { readScript } from '../../proxy/rehearsal/faults/fault-script.ts';
import type { ReceivedRequest, RequestEnd } from '../../proxy/rehearsal/received-request.ts';
import { PATIENCE_MS } from './until.ts';

/** Faults as data, or as a fault script: `refuse 503`, `cr framing + cut after 3 events`, `steady`. */
export type Script = string | Fault | readonly Fault[];

/** A request as it arrived, and its result. */
export interface Arrival extends ReceivedRequest {
  /** Undefined while it is being answered. */
  readonly closing: RequestEnd | undefined;
  /** Whether the client left before the answer was complete. */
  readonly aborted: boolean;
}

interface Waiter {
  readonly isMet: () => boolean;
  readonly resolve: () => void;
}

/** Matches the id of a file in a path. Scripts have `*` in its place, because the account chooses it. */
const FILE_ID = /(?<=\/)file_\w+/;

export class Inbox {
  readonly arrivals: Arrival[] = [];
  readonly standing = new Map<string, Script>();
  private readonly queues = new Map<string, Script[]>();
  private readonly waiters = new Set<Waiter>();
  private readonly script: (request: ReceivedRequest) => Script | undefined;

  /** @param script returns the script of a request, which takes precedence over all queues */
  constructor(script: (request: ReceivedRequest) => Script | undefined = () => undefined) {
    this.script = script;
  }

  queue(key: string, scripts: readonly Script[]): void {
    this.queues.set(key, [...(this.queues.get(key) ?? []), ...scripts]);
  }

  scriptFor(request: ReceivedRequest): readonly Fault[] | undefined {
    const { account, path, turn, isUpgrade } = request;
    const key = turn > 0 ? 'turn' : isUpgrade ? 'upgrade' : path.replace(FILE_ID, '*');
    const queued = (): Script | undefined => this.queues.get(`${account} ${key}`)?.shift();
    const own = this.script(request) ?? queued();
    if (own !== undefined) return faultsIn(own, account);
    const standing = turn > 0 || isUpgrade ? this.standing.get(account) : undefined;
    if (standing === undefined) return undefined;
    // A standing `reply` applies to turns. An upgrade gets a reply only if it was queued for it.
    return faultsIn(standing, account)?.filter(({ kind }) => !isUpgrade || kind !== 'reply');
  }

  record(request: ReceivedRequest): void {
    let closing: RequestEnd | undefined;
    void request.closed.then((how) => {
      closing = how;
    });
    this.arrivals.push({
      ...request,
      get closing() {
        return closing;
      },
      get aborted() {
        return closing === 'left';
      },
    });
    for (const waiter of [...this.waiters]) if (waiter.isMet()) waiter.resolve();
  }

  async until(isMet: () => boolean, state: () => string): Promise<void> {
    if (isMet()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiter = { isMet, resolve };
    this.waiters.add(waiter);
    try {
      await inTime(promise, state);
    } finally {
      this.waiters.delete(waiter);
    }
  }

  clear(): void {
    this.arrivals.length = 0;
    this.standing.clear();
    this.queues.clear();
  }
}

function faultsIn(script: Script, account: string): readonly Fault[] | undefined {
  if (typeof script === 'string') return readScript(script, account);
  return 'kind' in script ? [script] : script;
}

/** The result of the promise. After a deadline it rejects with the state so far. */
export async function inTime<T>(promise: Promise<T>, state: () => string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`waited in vain: ${state()}`)), PATIENCE_MS);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
