// Preloaded into the gateway's process: collects garbage and reports its memory, and moves its clocks, on orders of the torture's process.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { HookOrder, Vitals } from './gateway-process.ts';

/** Milliseconds that have passed on orders, and that the wall clock was set ahead by. */
let [passed, set] = [0, 0];
const { now } = Date;
Date.now = () => now() + passed + set;
const monotonic = performance.now.bind(performance);
performance.now = () => monotonic() + passed;

const delay = monitorEventLoopDelay({ resolution: 10 });
delay.enable();

/** The longest time without the event loop since the last order of its kind. */
function longestStopMs(): number {
  const longest = delay.max / 1e6;
  delay.reset();
  return longest;
}

function vitals(): Vitals {
  // Twice: what the first collection finalises, the second one frees.
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
