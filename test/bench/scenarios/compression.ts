// The cost of request compression for the event loop, for a turn of 1 MiB: in total, and in one stretch.
import { fileURLToPath } from 'node:url';
import { outputOf } from '../children.ts';
import { alternate, type Measurement } from '../sheet.ts';

const RUNNER = fileURLToPath(new URL('compression-runner.ts', import.meta.url));

/** The runner's output, in milliseconds of the main thread: medians over its turns. */
export interface CompressionCost {
  /** The longest stretch in a turn without a pause for other turns. */
  readonly step: number;
  /** All stretches. */
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
