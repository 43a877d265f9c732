// The browser of the tests, unpacked once for all test processes of the machine: its package would hand out a file that another process writes.
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, renameSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { lock } from '../../scripts/lock.mjs';

const PACKAGE = '@sparticuz/chromium';

/** Prints where the package has unpacked the browser, which is in the folder for temporary files. */
const UNPACK = `import chromium from '${PACKAGE}'; console.log(await chromium.executablePath());`;

const packageFile = join(dirname(fileURLToPath(import.meta.resolve(PACKAGE))), '..', 'package.json');

/** The path of the executable. */
export async function chromiumPath(): Promise<string> {
  const { version } = JSON.parse(readFileSync(packageFile, 'utf8'));
  const name = `poolgate-chromium-${version}-${userInfo().uid}`;
  const folder = join(tmpdir(), name);
  const release = await lock(name, () => {});
  try {
    if (!existsSync(folder)) await unpack(folder);
  } finally {
    release();
  }
  return join(folder, 'chromium');
}

/** The folder appears with all its files, even if a process is killed while it unpacks them. */
async function unpack(folder: string): Promise<void> {
  const partial = mkdtempSync(`${folder}-`);
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', UNPACK], {
    cwd: dirname(packageFile),
    env: { ...process.env, TMPDIR: partial },
  });
  if (basename(stdout.trim()) !== 'chromium') throw new Error(`${PACKAGE} has unpacked ${stdout}`);
  renameSync(partial, folder);
}
