// Loaded into every Node process that is measured: collects garbage, and profiles a stretch of time, when its parent asks.
import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';

export type Order =
  | { readonly order: 'collect' }
  | { readonly order: 'profile' }
  | { readonly order: 'profiled'; readonly file: string }
  /** Answered by step-marks.ts. */
  | { readonly order: 'steps'; readonly file?: string };

const profiler = new Session();

async function obey(asked: Order): Promise<void> {
  if (asked.order === 'steps') return;
  if (asked.order === 'collect') {
    // The last resort also gives back the room for new objects, which else hides what is held. What one collection makes
    // unreachable, finalisers let go of before the second.
    for (let i = 0; i < 2; i++) {
      globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
      await new Promise(setImmediate);
    }
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

// In whatever way the parent ended.
process.on('disconnect', () => process.exit());
process.on('message', (order: Order) => void obey(order));
// The channel to the parent must not keep the process alive.
process.channel?.unref();
