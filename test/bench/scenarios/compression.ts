// The cost of request compression for the event loop in a turn of 1 MiB, in total and in the longest stretch.
import { fileURLToPath } from 'node:url';
import { outputOf } from '../children.ts';
import { alternate, type Measurement } from '../figures/sheet.ts';

const RUNNER = fileURLToPath(new URL('processes/compression-runner.ts', import.meta.url));

/** The output of the runner, in milliseconds of the main thread, as medians over its turns. */
export interface CompressionCost {
  /** The longest stretch in a turn without a pause for other turns. */
  readonly step: number;
  /** The sum of all stretches. */
  readonly turn: number;
}

export async function compressionCost({ stage, effort, sheet }: Measurement): Promise<void> {
  const command = stage.cores.pinned('relay', [process.execPath, '--import', 'tsx/esm', RUNNER, String(effort.seconds)]);
  await alternate(effort.runs, ['poolgate'] as const, async (subject) => {
    const cost = JSON.parse(await outputOf([...command])) as CompressionCost;
    sheet.add('longest step of compression', subject, cost.step);
    sheet.add('cpu per compressed turn', subject, cost.turn);
  });
}
