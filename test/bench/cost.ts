// Processor time of a relay during a stretch of work, with a profile on request.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { alternate } from './figures/sheet.ts';
import { cpuOf, order, type Relay } from './relays/relay.ts';
import type { Stage } from './stage.ts';

/** Microseconds of the relay's processor time while `work` runs. */
export async function cost(stage: Stage, relay: Relay, label: string, work: () => Promise<void>): Promise<number> {
  const before = cpuOf(relay);
  await profiled(stage, relay, label, work);
  return cpuOf(relay) - before;
}

/** A worker that has a relay for itself. */
export interface Worker {
  readonly name: string;
  readonly relay: Relay;
}

/** The gateway writes pins a second late. */
const DEFERRED_MS = 2_000;

/**
 * Microseconds per request of several workers, which work in turns for short stretches. The turns are short because a shared machine
 * changes its speed within minutes, and compared figures must be measured close together. A stretch lasts until the next one of the same
 * worker, so deferred work counts for the requests that caused it.
 * @param work resolves with the number of requests
 */
export async function costPerRequest<W extends Worker>(
  stage: Stage,
  { label, rounds, workers }: { readonly label: string; readonly rounds: number; readonly workers: readonly W[] },
  work: (worker: W) => Promise<number>,
  tell: (worker: W, microseconds: number) => void,
): Promise<void> {
  const stretches = new Map<W, { readonly before: number; readonly requests: number }>();
  const bill = (worker: W): void => {
    const stretch = stretches.get(worker);
    if (stretch) tell(worker, (cpuOf(worker.relay) - stretch.before) / stretch.requests);
  };
  await alternate(rounds, workers, async (worker) => {
    bill(worker);
    const before = cpuOf(worker.relay);
    const requests = await profiled(stage, worker.relay, `${label}-${worker.name}`, () => work(worker));
    stretches.set(worker, { before, requests });
  });
  await sleep(DEFERRED_MS);
  workers.forEach(bill);
}

async function profiled<Result>({ profiles }: Stage, relay: Relay, label: string, work: () => Promise<Result>): Promise<Result> {
  if (!profiles) return work();
  await order(relay, { order: 'profile' });
  const result = await work();
  await order(relay, { order: 'profiled', file: join(profiles, `${label.replaceAll(/[^a-z0-9-]+/gi, '-')}.cpuprofile`) });
  return result;
}
