// Sets up a fresh clone: a Node that is new enough, the locked packages, sqlite3 compiled; then runs a command.
//
//   node scripts/setup.mjs                  sets up
//   node scripts/setup.mjs COMMAND ARG…     sets up, then runs COMMAND with the right Node and node_modules/.bin first on PATH
//   node scripts/setup.mjs --print-bin      sets up, then prints the directory of the right Node
//
// Plain JavaScript without dependencies, because it runs before they are installed, on any Node. Every start runs it: if everything is
// installed, it only reads two lockfiles and two stamps.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { keepBuild } from './kept-build.mjs';
import { endAs, launch } from './launch.mjs';

/** The oldest Node that runs poolgate: its HTTP servers choose which upgrades they accept. */
export const OLDEST_NODE = '24.9.0';

/** The packages with a build step. Install scripts of other packages never run. */
export const BUILT_PACKAGES = ['sqlite3', 'esbuild'];

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const NODE_PACKAGE = join(ROOT, 'scripts', 'node');

/** Stops the set-up. Its message is printed without a stack trace. */
export class SetupError extends Error {}

/**
 * Whether a version such as `v22.19.0` is at least another; a suffix after a hyphen is ignored.
 * @type {(version: string, oldest: string) => boolean}
 */
export function atLeast(version, oldest) {
  const [have, want] = [version, oldest].map((text) =>
    text
      .replace(/^v|-.*$/g, '')
      .split('.')
      .map(Number),
  );
  for (const [i, part] of want?.entries() ?? []) {
    const difference = (have?.[i] ?? 0) - part;
    if (difference !== 0) return difference > 0;
  }
  return true;
}

/**
 * Identifies an installation: a lockfile, for a Node version. It is written last: a missing or different stamp means that packages must be installed.
 * @type {(lockfile: string, nodeVersion: string, machine?: string) => string}
 */
export function stampOf(lockfile, nodeVersion, machine = `${process.platform}-${process.arch}`) {
  const major = nodeVersion.replace(/^v/, '').split('.')[0];
  return `${createHash('sha256').update(lockfile).digest('hex')} node${major} ${machine}\n`;
}

/**
 * The Node that runs poolgate: the machine's own if it is new enough, else the one of `scripts/node/`.
 * @param {string} own version of the Node that runs this
 * @param {string} machine platform and architecture, as in `linux-x64`
 * @param {Readonly<Record<string, string>>} packages what `scripts/node/` has, by package name
 */
export function nodeFor(own, machine, packages) {
  if (atLeast(own, OLDEST_NODE)) return { version: own, bin: dirname(process.execPath), fromNpm: false };
  const version = packages[`node-${machine}`];
  if (!version) {
    throw new SetupError(
      `poolgate needs Node ${OLDEST_NODE} or newer; this is Node ${own}, and npm has no Node for ${machine}.\n` +
        'Install Node 24 from https://nodejs.org/en/download and try again.',
    );
  }
  return { version, bin: join(NODE_PACKAGE, 'node_modules', `node-${machine}`, 'bin'), fromNpm: true };
}

/** Installs everything that is missing. Returns the Node to use, and an environment in which `node` runs it. */
export async function setUp() {
  const manifest = JSON.parse(readFileSync(join(NODE_PACKAGE, 'package.json'), 'utf8'));
  const node = nodeFor(process.versions.node, `${process.platform}-${process.arch}`, manifest.optionalDependencies);
  const env = { ...process.env };
  const path = Object.keys(env).find((name) => name.toUpperCase() === 'PATH') ?? 'PATH'; // Windows spells it Path
  // The Node in use comes first, because this one may have been started by its path while PATH has another one.
  env[path] = [node.bin, join(ROOT, 'node_modules', '.bin'), env[path]].join(delimiter);
  const isInstalled = () => (!node.fromNpm || installed(NODE_PACKAGE, node.version)) && installed(ROOT, node.version);
  if (!isInstalled()) {
    const { lock } = await import('./lock.mjs');
    const name = `poolgate-set-up-${createHash('sha256').update(realpathSync(ROOT)).digest('hex').slice(0, 16)}`;
    const release = await lock(name, () => say('waiting for another set-up of this directory to end'));
    try {
      if (node.fromNpm && !installed(NODE_PACKAGE, node.version)) await installNode(node, env);
      if (!installed(ROOT, node.version)) await installPackages(node, env);
    } finally {
      release();
    }
  }
  return { node, env };
}

/** @typedef {ReturnType<typeof nodeFor>} Node */

/** @type {(node: Node, env: NodeJS.ProcessEnv) => Promise<void>} */
async function installNode(node, env) {
  say(`this is Node ${process.versions.node}, poolgate needs ${OLDEST_NODE} or newer: installing Node ${node.version} from npm`);
  await install(NODE_PACKAGE, node.version, env, async () => {
    await must(
      [join(node.bin, 'node'), '--eval', ''],
      env,
      `The Node ${node.version} from npm does not run on this machine (it is built for glibc).\n` +
        `Install Node ${OLDEST_NODE} or newer yourself, from your system's packages or https://nodejs.org/en/download, and try again.`,
    );
  });
}

/** @type {(node: Node, env: NodeJS.ProcessEnv) => Promise<void>} */
async function installPackages(node, env) {
  const { withProgress } = await import('./progress.mjs');
  say('installing the packages of package-lock.json');
  const lockfile = readFileSync(join(ROOT, 'package-lock.json'), 'utf8');
  const restoreBuild = keepBuild(ROOT, read(stampFile(ROOT)) ?? '', stampOf(lockfile, node.version));
  await install(ROOT, node.version, env, async () => {
    if (restoreBuild() && (await runs(['node', '--eval', 'require("sqlite3")'], env))) {
      await must(['npm', 'rebuild', '--ignore-scripts=false', '--loglevel=error', 'esbuild'], env, 'esbuild could not be installed.');
      return;
    }
    say('building sqlite3: downloaded if a binary is available, else compiled, which takes about a minute');
    const build = ['npm', 'rebuild', '--ignore-scripts=false', '--loglevel=error', ...BUILT_PACKAGES];
    // Most distributions have the headers next to Node. Otherwise node-gyp downloads them from nodejs.org.
    const prefix = dirname(node.bin);
    const headers = existsSync(join(prefix, 'include', 'node', 'node.h')) ? { npm_package_config_node_gyp_nodedir: prefix } : {};
    const advice = /\s/.test(ROOT)
      ? `sqlite3 could not be built: compilers fail because of the space in ${ROOT}. Move the directory.`
      : 'sqlite3 could not be built; the reason is above. Compiling it takes Python 3, make and a C++ compiler:\n' +
        '  Debian, Ubuntu: apt-get install python3 make g++      Fedora: dnf install python3 make gcc-c++\n' +
        '  Alpine: apk add python3 make g++                      macOS: xcode-select --install\n' +
        "  Windows: Visual Studio Build Tools with 'Desktop development with C++'";
    const building = must(build, { JOBS: 'max', ...env, ...headers }, advice);
    await withProgress((seconds) => say(`still building sqlite3, for ${seconds} s`), building);
    await must(['node', '--eval', 'require("sqlite3")'], env, advice);
  });
  say('done');
}

/**
 * Installs the packages of a directory's lockfile without install scripts, then calls `finish`. The stamp is written last, so that an
 * interrupted installation starts again. @type {(directory: string, nodeVersion: string, env: NodeJS.ProcessEnv, finish: () =>
 * Promise<void>) => Promise<void>}
 */
async function install(directory, nodeVersion, env, finish) {
  const { packagesIn, withProgress } = await import('./progress.mjs');
  const lockfile = readFileSync(join(directory, 'package-lock.json'), 'utf8');
  rmSync(stampFile(directory), { force: true });
  const everything = ['--include=dev', '--include=optional'];
  const quietly = ['--no-audit', '--no-fund', '--no-progress', '--loglevel=error'];
  const installing = must(
    ['npm', 'ci', '--prefix', relative(ROOT, directory) || '.', '--ignore-scripts', ...everything, ...quietly],
    env,
    'npm could not install the packages; its message is above. The first start needs the npm registry; later starts need no network.',
  );
  await withProgress((seconds) => {
    const { all, installed } = packagesIn(directory, lockfile);
    say(`${installed} of ${all} packages are there, after ${seconds} s`);
  }, installing);
  await finish();
  writeFileSync(stampFile(directory), stampOf(lockfile, nodeVersion));
}

/**
 * Whether a directory's packages are installed for its lockfile and this Node.
 * @type {(directory: string, nodeVersion: string) => boolean}
 */
function installed(directory, nodeVersion) {
  const lockfile = read(join(directory, 'package-lock.json'));
  // A published package has no lockfile, because its dependencies were installed with it.
  return lockfile === undefined || read(stampFile(directory)) === stampOf(lockfile, nodeVersion);
}

/** @param {string} directory */
const stampFile = (directory) => join(directory, 'node_modules', '.poolgate-set-up');

/**
 * Runs one step with all its output on stderr, so that stdout has only the output of the command.
 * @type {(command: readonly string[], env: NodeJS.ProcessEnv, advice: string) => Promise<void>}
 */
async function must(command, env, advice) {
  const end = await launch(command, { cwd: ROOT, env, stdio: ['ignore', 2, 2] });
  // npm and shells report a signal as a code above 128.
  if (end.signal || (end.code ?? 0) > 128) throw new SetupError('stopped; the next start begins again');
  if (end.code !== 0) throw new SetupError(advice);
}

/**
 * Whether a command ends well; its output is not shown.
 * @type {(command: readonly string[], env: NodeJS.ProcessEnv) => Promise<boolean>}
 */
async function runs(command, env) {
  const end = await launch(command, { cwd: ROOT, env, stdio: 'ignore' });
  return end.code === 0;
}

/** @param {string} file */
function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** The folder for the compiled code of earlier processes. It saves a sixth of a start, and a quarter of the tests' time. */
export const compileCache = fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url));

/** @param {string} line */
const say = (line) => process.stderr.write(`poolgate set-up: ${line}\n`);

/** Runs `main`. An error ends the process with its message. @type {(main: () => Promise<void>) => Promise<void>} */
export async function asCommand(main) {
  try {
    await main();
  } catch (error) {
    if (error instanceof SetupError) say(error.message);
    else console.error(error);
    process.exitCode = 1;
  }
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await asCommand(async () => {
    const command = process.argv.slice(2);
    const { node, env } = await setUp();
    if (command[0] === '--print-bin') console.log(node.bin);
    else if (command[0]?.startsWith('-')) throw new SetupError(`unknown option ${command[0]}; the only one is --print-bin`);
    else if (command.length > 0) endAs(await launch(command, { env: { NODE_COMPILE_CACHE: compileCache, ...env } }));
  });
}
