// A module in every measured Node process: on request of the parent it collects garbage, or profiles a stretch of time.
import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { setTimeout as sleep } from 'node:timers/promises';

export type Order =
  | { readonly order: 'collect' }
  | { readonly order: 'profile' }
  | { readonly order: 'profiled'; readonly file: string }
  /** The order that step-marks.ts answers. */
  | { readonly order: 'steps'; readonly file?: string };

const profiler = new Session();

async function obey(asked: Order): Promise<void> {
  if (asked.order === 'steps') return;
  if (asked.order === 'collect') {
    // This kind of collection also frees the space for new objects, which would otherwise hide what is held. Finalisers release memory
    // after the first collection, so there is a second one.
    for (let i = 0; i < 2; i++) {
      globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
      await new Promise(setImmediate);
    }
    await pagesReturned();
  } else if (asked.order === 'profile') {
    profiler.connect();
    await profiler.post('Profiler.enable');
    await profiler.post('Profiler.start');
  } else {
    const { profile } = await profiler.post('Profiler.stop');
    writeFileSync(asked.file, JSON.stringify(profile));
    profiler.disconnect();
  }
  process.send?.('done');
}

/** V8 returns the pages of what it collected to the system in a thread of its own, within tenths of a second. */
async function pagesReturned(): Promise<void> {
  for (let last = Number.POSITIVE_INFINITY, now = process.memoryUsage.rss(); now < last; now = process.memoryUsage.rss()) {
    last = now;
    await sleep(200);
  }
}

// The process ends however the parent ended.
process.on('disconnect', () => process.exit());
process.on('message', (order: Order) => void obey(order));
// The channel to the parent must not keep the process alive.
process.channel?.unref();
