// The cost of the rules for a native turn of 40 KB, compared with parsing and writing it.
import { fileURLToPath } from 'node:url';
import { outputOf } from '../children.ts';
import { alternate, type Measurement } from '../figures/sheet.ts';

const RUNNER = fileURLToPath(new URL('processes/rules-runner.ts', import.meta.url));

export const JSON_ALONE = 'parse and stringify';

/** The runner's output, in microseconds per turn. */
export interface RulesCost {
  readonly rules: number;
  readonly json: number;
}

export async function rulesCost({ stage, effort, sheet }: Measurement): Promise<void> {
  const command = stage.cores.pinned('relay', [process.execPath, '--import', 'tsx/esm', RUNNER, String(effort.seconds)]);
  await alternate(effort.runs, ['full', 'lite'] as const, async (mode) => {
    const cost = JSON.parse(await outputOf([...command, mode])) as RulesCost;
    sheet.add(`rules of a ${mode} turn`, 'poolgate', cost.rules);
    sheet.add(`rules of a ${mode} turn`, JSON_ALONE, cost.json);
  });
}
