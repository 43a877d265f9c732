// Prints the progress of the set-up. A first start takes minutes, in which npm and compilers print nothing.
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const SAID_EVERY_MS = 5_000;

/**
 * @template Result
 * @param {(seconds: number) => void} say called while the work runs
 * @param {Promise<Result>} work
 * @param {number} [everyMs]
 * @returns {Promise<Result>}
 */
export async function withProgress(say, work, everyMs = SAID_EVERY_MS) {
  const began = performance.now();
  const timer = setInterval(() => say(Math.round((performance.now() - began) / 1_000)), everyMs);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

/** @typedef {{ readonly os?: readonly string[], readonly cpu?: readonly string[] }} LockedPackage */

/**
 * Counts the packages of a lockfile for this machine, and those of them that are installed.
 * @param {string} directory
 * @param {string} lockfile its text
 * @param {{ platform: string, arch: string }} [machine]
 */
export function packagesIn(directory, lockfile, { platform, arch } = process) {
  /** @type {{ packages: Record<string, LockedPackage> }} */
  const { packages } = JSON.parse(lockfile);
  const isHere = ({ os = [platform], cpu = [arch] } = /** @type {LockedPackage} */ ({})) => os.includes(platform) && cpu.includes(arch);
  const paths = Object.keys(packages).filter((path) => path !== '' && isHere(packages[path]));
  return { all: paths.length, installed: paths.filter((path) => existsSync(join(directory, path, 'package.json'))).length };
}
