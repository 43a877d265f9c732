// Processor time of a relay over a stretch of work, profiled where that was asked for.
import { join } from 'node:path';
import { cpuOf, order, type Relay } from './relays/relay.ts';
import type { Stage } from './stage.ts';

/** Microseconds of the relay's processor time while `work` runs. */
export async function cost(stage: Stage, relay: Relay, label: string, work: () => Promise<void>): Promise<number> {
  const { profiles } = stage;
  if (profiles) await order(relay, { order: 'profile' });
  const before = cpuOf(relay);
  await work();
  const used = cpuOf(relay) - before;
  if (profiles) await order(relay, { order: 'profiled', file: join(profiles, `${label.replaceAll(/[^a-z0-9-]+/gi, '-')}.cpuprofile`) });
  return used;
}
