// npm run walk: prints the walk of one turn of each surface; `--write` puts the figures and the path into docs/architecture.md.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { report, walks } from './walk.ts';

const PAGE = fileURLToPath(new URL('../../docs/architecture.md', import.meta.url));

/** The section of the page; its markers are invisible in the rendered page. */
export const SECTION = /(<!-- walk:begin -->\n)[\s\S]*?(<!-- walk:end -->)/;

if (import.meta.main) {
  const text = report(await walks());
  process.stdout.write(`${text}\n`);
  if (process.argv.includes('--write')) writeFileSync(PAGE, readFileSync(PAGE, 'utf8').replace(SECTION, `$1${text}\n$2`));
  process.exit(0);
}
