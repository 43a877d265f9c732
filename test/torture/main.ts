// `npm run torture`: attacks the gateway from both sides, and prints its findings.
import { parseArgs } from 'node:util';
import { ATTACKS } from './attacks.ts';
import { findingText, notesOf, tableOf } from './report.ts';
import { torture } from './torture.ts';

const HELP = `npm run torture -- [options]

  --seed N         the first seed; equal seeds have equal cases. Default: 1
  --minutes N      for all attacks together. Default: 10
  --only ATTACK    only this attack; ATTACK/CASE only its cases whose names begin so

Attacks:
${ATTACKS.map(({ name, title }) => `  ${name.padEnd(17)}${title}`).join('\n')}

The exit code is 1 where anything was found.
`;

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '10' },
    only: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

/** @throws Error */
function numberOf(name: 'seed' | 'minutes'): number {
  const number = Number(options[name]);
  if (!(number >= 0) || (name === 'seed' && !Number.isInteger(number))) throw new Error(`--${name} takes a number`);
  return number;
}

async function run(): Promise<number> {
  const reports = await torture(ATTACKS, {
    seed: numberOf('seed'),
    seconds: numberOf('minutes') * 60,
    limit: () => Number.POSITIVE_INFINITY,
    only: options.only,
    found: (found) => console.log(`${findingText(found)}\n`),
  });
  console.log(tableOf(reports));
  const notes = notesOf(reports);
  if (notes !== '') console.log(`\n${notes}`);
  return reports.some(({ found }) => found.length > 0) ? 1 : 0;
}

if (options.help) console.log(HELP);
else {
  // Every gateway ends with this process.
  const code = await run().catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : String(error));
    return 2;
  });
  process.exit(code);
}
