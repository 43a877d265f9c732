// Preloaded into the gateway's process. On orders of the torture's process, it collects garbage, reports its memory, and moves its clocks.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { HookOrder, Vitals } from './gateway-process.ts';

/** The milliseconds that have passed on orders, and those by which the wall clock was set ahead. */
let [passed, set] = [0, 0];
const { now } = Date;
Date.now = () => now() + passed + set;
const monotonic = performance.now.bind(performance);
performance.now = () => monotonic() + passed;

const delay = monitorEventLoopDelay({ resolution: 10 });
delay.enable();

/** The longest time without the event loop since the last order of this kind. */
function longestStopMs(): number {
  const longest = delay.max / 1e6;
  delay.reset();
  return longest;
}

function vitals(): Vitals {
  // Called twice, because the second collection frees what the first one finalises.
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  const sockets = process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
  return { heapUsed, external, rss, sockets, cpuMicroseconds: user + system };
}

process.on('message', ({ order, ms = 0 }: HookOrder) => {
  if (order === 'set clock') set += ms;
  if (order === 'pass time') passed += ms;
  if (order === 'cpu') {
    const { user, system } = process.cpuUsage();
    process.send?.(user + system);
  } else if (order === 'stops') process.send?.(longestStopMs());
  else process.send?.(vitals());
});
process.channel?.unref();
