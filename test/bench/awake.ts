// Keeps the cores of upstream and load from sleeping while processor time is measured.
import { Child } from './children.ts';
import type { Stage } from './stage.ts';

/**
 * Runs programs that spin on the cores of upstream and load. On a virtual machine a sleeping core costs the process that wakes it about 20
 * µs a write, so a slow relay, whose clients sleep more often, would look slower than it is. The spinning programs take no time from other
 * processes, but delay them, so latencies are measured without them.
 */
export async function awake<Result>({ cores }: Stage, work: () => Promise<Result>): Promise<Result> {
  const wakers = cores.wakers.map((command) => new Child(command));
  try {
    return await work();
  } finally {
    await Promise.all(wakers.map((waker) => waker.kill()));
  }
}
