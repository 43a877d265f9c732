// The time until a cooldown of one node applies to the turns of another node, over one PostgreSQL.
import { fileURLToPath } from 'node:url';
import { outputOf } from '../../children.ts';
import { alternate, type Measurement } from '../../figures/sheet.ts';

const RUNNER = fileURLToPath(new URL('convergence-runner.ts', import.meta.url));
const COOLDOWNS = { quick: 50, whole: 200 };

/** The runner's output, in milliseconds. */
export interface Convergence {
  readonly p50: number;
  readonly p99: number;
}

export async function convergence({ effort, sheet }: Measurement): Promise<void> {
  const count = effort.runs > 3 ? COOLDOWNS.whole : COOLDOWNS.quick;
  await alternate(effort.runs, ['poolgate'] as const, async (subject) => {
    const { p50, p99 } = JSON.parse(await outputOf([process.execPath, '--import', 'tsx/esm', RUNNER, String(count)])) as Convergence;
    sheet.add('cooldown of another node, p50', subject, p50);
    sheet.add('cooldown of another node, p99', subject, p99);
  });
}
