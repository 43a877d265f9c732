// Keeps the cores of upstream and load from falling asleep while processor time is measured.
import { Child } from './children.ts';
import type { Stage } from './stage.ts';

/**
 * On a virtual machine a sleeping core costs the process that wakes it some 20 µs a write, and a slow relay, whose clients sleep more, would be
 * billed for its slowness. The programs that spin take no time from others, but make them late: latencies are measured without.
 */
export async function awake<Result>({ cores }: Stage, work: () => Promise<Result>): Promise<Result> {
  const wakers = cores.wakers.map((command) => new Child(command));
  try {
    return await work();
  } finally {
    await Promise.all(wakers.map((waker) => waker.kill()));
  }
}
