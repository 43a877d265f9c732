// The browser of the tests. It is unpacked once into node_modules/.cache, because its package may return a file that another process is
// still writing.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { lock } from '../../scripts/lock.mjs';

const PACKAGE = '@sparticuz/chromium';

/** Unpacks the browser into the folder for temporary files, unless it is there already. */
const UNPACK = `import chromium from '${PACKAGE}'; await chromium.executablePath();`;

const CACHE = fileURLToPath(new URL('../../node_modules/.cache', import.meta.url));

const packageFile = join(dirname(fileURLToPath(import.meta.resolve(PACKAGE))), '..', 'package.json');

/** The path of the executable. */
export async function chromiumPath(): Promise<string> {
  const { version } = JSON.parse(readFileSync(packageFile, 'utf8'));
  const folder = join(CACHE, `chromium-${version}`);
  const release = await lock('poolgate-chromium', () => {});
  try {
    if (!existsSync(folder)) await unpack(folder);
  } finally {
    release();
  }
  return join(folder, 'chromium');
}

/** Unpacks into another folder and renames it, so that the folder is complete even if the process is killed while it unpacks. */
async function unpack(folder: string): Promise<void> {
  mkdirSync(CACHE, { recursive: true });
  const partial = mkdtempSync(`${folder}-`);
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', UNPACK], {
    cwd: dirname(packageFile),
    env: { ...process.env, TMPDIR: partial },
  });
  renameSync(partial, folder);
}
