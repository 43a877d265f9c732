// The time from the command to the first answered turn, for an installed package with the compiled code of earlier starts.
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Child } from '../children.ts';
import { alternate, type Measurement } from '../figures/sheet.ts';
import { GATEWAY } from '../relays/crew.ts';
import { firstStatus, GATEWAY_ENV, KEY, USUAL, writeConfig } from '../relays/gateway.ts';
import { freePort } from '../relays/others.ts';

const COMMAND = fileURLToPath(new URL('../../../scripts/poolgate.mjs', import.meta.url));
const LONGEST_MS = 20_000;

/** The process is not bound to a core: a user's process would not be. */
export async function startToFirstAnswer({ stage, effort, sheet }: Measurement): Promise<void> {
  const start = async (): Promise<number> => {
    const port = await freePort();
    const config = writeConfig(stage, USUAL, port);
    const began = performance.now();
    const child = new Child([process.execPath, COMMAND, 'serve', '--config', config], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, ...GATEWAY_ENV },
    });
    while ((await firstStatus(port, { path: '/v1/responses', key: KEY })) !== 200) {
      if (performance.now() - began > LONGEST_MS) throw new Error('the gateway does not start');
      await sleep(2);
    }
    const seconds = (performance.now() - began) / 1_000;
    await child.stop();
    return seconds;
  };
  await start();
  await alternate(effort.runs * 2, [GATEWAY], async (name) => sheet.add('start', name, await start()));
}
