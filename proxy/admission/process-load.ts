// The load of this process: how late its event loop is, and which share of its permitted memory it uses.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { usableMemory } from '../base/process/machine.ts';

export interface ProcessLoad {
  /** Mean delay of the event loop since the last call, in milliseconds. */
  eventLoopMs(): number;
  /** The larger of two shares: resident memory of the memory of the container or machine, and heap of the heap's limit. */
  memoryPercent(): number;
  /** Stops the measurement. */
  stop(): void;
}

/** The period of a native timer that measures the event loop. No JavaScript runs for it. */
const RESOLUTION_MS = 20;

export class NodeLoad implements ProcessLoad {
  #delay: ReturnType<typeof monitorEventLoopDelay> | undefined;

  /** The first call starts the measurement. */
  eventLoopMs(): number {
    if (!this.#delay) {
      this.#delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
      this.#delay.enable();
    }
    const { count, mean } = this.#delay;
    this.#delay.reset();
    // The histogram has the whole time between two runs of the timer, so the period is subtracted.
    return count === 0 ? 0 : Math.max(0, mean / 1e6 - RESOLUTION_MS);
  }

  memoryPercent(): number {
    const { used_heap_size, heap_size_limit } = getHeapStatistics();
    return 100 * Math.max(process.memoryUsage.rss() / usableMemory(), used_heap_size / heap_size_limit);
  }

  stop(): void {
    this.#delay?.disable();
  }
}
