// The request log at 5,000 turns a second: the main thread's time per row, and whether every row arrives.
import { fileURLToPath } from 'node:url';
import { outputOf } from '../children.ts';
import { alternate, type Measurement } from '../figures/sheet.ts';
import { GATEWAY } from '../relays/crew.ts';

const WRITER = fileURLToPath(new URL('processes/request-log-writer.ts', import.meta.url));
const ROWS_PER_SECOND = 5_000;

/** The writer's output. */
export interface Written {
  readonly lost: number;
  readonly mainMicroseconds: number;
}

export async function requestLog({ stage, effort, sheet }: Measurement): Promise<void> {
  await alternate(effort.runs, [GATEWAY], async (name) => {
    const command = [
      process.execPath,
      '--disable-warning=ExperimentalWarning',
      WRITER,
      stage.directory,
      String(ROWS_PER_SECOND),
      String(effort.seconds * 2),
    ];
    const { lost, mainMicroseconds } = JSON.parse(await outputOf(stage.cores.pinned('relay', command))) as Written;
    sheet.add('rows lost', name, lost);
    sheet.add('main thread per row', name, mainMicroseconds);
  });
}
