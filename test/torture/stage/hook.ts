// Preloaded into the gateway's process: collects garbage and reports its memory, and moves its clocks, on orders of the torture's process.
import type { HookOrder, Vitals } from './gateway-process.ts';

/** Milliseconds that have passed on orders, and that the wall clock was set ahead by. */
let [passed, set] = [0, 0];
const { now } = Date;
Date.now = () => now() + passed + set;
const monotonic = performance.now.bind(performance);
performance.now = () => monotonic() + passed;

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
  } else process.send?.(vitals());
});
process.channel?.unref();
