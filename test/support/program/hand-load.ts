// The load of a process, which a test sets.
import type { ProcessLoad } from '../../../proxy/admission/process-load.ts';

export class HandLoad implements ProcessLoad {
  /** The mean delay of the event loop in milliseconds. */
  delay = 0;
  /** The used memory in percent. */
  memory = 0;
  readonly reads = { eventLoop: 0, memory: 0 };

  eventLoopMs(): number {
    this.reads.eventLoop += 1;
    return this.delay;
  }

  memoryPercent(): number {
    this.reads.memory += 1;
    return this.memory;
  }

  stop(): void {
    this.delay = 0;
  }
}
