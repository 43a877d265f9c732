// A JSON turn while five pages of the console are open in a browser and update themselves.
import { pagesOf } from '../console/pages.ts';
import { costPerRequest } from '../cost.ts';
import type { Measurement } from '../figures/sheet.ts';
import { GATEWAY, NATIVE_PATH } from '../relays/crew.ts';
import { startGateway, USUAL } from '../relays/gateway.ts';
import { jsonLoad, warmJson } from './json.ts';

export const WATCHED = `${GATEWAY}, five pages open`;

/** The guard is off, because the browser may keep the machine so busy that it would refuse turns. */
const UNGUARDED = { ...USUAL, guard: { event_loop_ms: 0, memory_percent: 0 } };

/** Pages refresh at this interval if there are many turns, so each round has the cost of one refresh. */
const ROUND_SECONDS = 5;

const PAGES = ['/', '/accounts', '/keys', '/requests', '/models'];

export async function watchedTurns({ stage, effort, sheet }: Measurement): Promise<void> {
  const [watched, alone] = [await startGateway(stage, UNGUARDED), await startGateway(stage, UNGUARDED)];
  const [, url] = await watched.child.line(/^console (\S+)$/);
  const { pages, close } = await pagesOf(PAGES.length, stage.cores);
  try {
    for (const [i, path] of PAGES.entries()) {
      await pages[i]?.open(`${url}${path}`);
      await pages[i]?.sees('Live');
    }
    const workers = [
      { name: WATCHED, relay: watched, path: NATIVE_PATH },
      { name: GATEWAY, relay: alone, path: NATIVE_PATH },
    ];
    for (const worker of workers) await warmJson(stage, worker);
    await costPerRequest(
      stage,
      { label: 'watched', rounds: effort.rounds, workers },
      (worker) => jsonLoad(stage, worker, ROUND_SECONDS),
      ({ name }, microseconds) => sheet.add('cpu per watched turn', name, microseconds),
    );
  } finally {
    await close();
    for (const { child } of [watched, alone]) await child.stop();
  }
}
