// Keeps the compiled sqlite3 when other packages are updated, because `npm ci` removes it and compiling it takes a minute.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const PACKAGE = 'node_modules/sqlite3';
const ADDON = `${PACKAGE}/build/Release/node_sqlite3.node`;

/**
 * Call before the packages are installed again.
 * @param {string} root
 * @param {string} former the stamp of the installation that is replaced
 * @param {string} next the stamp of the one that follows
 * @returns {() => boolean} call afterwards: puts the addon back where it is still the right one, and says whether it did
 */
export function keepBuild(root, former, next) {
  const version = versionIn(root);
  const addon = read(join(root, ADDON));
  return () => {
    if (!addon || version === undefined || versionIn(root) !== version || platformOf(former) !== platformOf(next)) return false;
    mkdirSync(dirname(join(root, ADDON)), { recursive: true });
    writeFileSync(join(root, ADDON), addon);
    return true;
  };
}

/** Node's major version and the machine, which follow the digest of the lockfile in a stamp. @param {string} stamp */
const platformOf = (stamp) => stamp.trim().split(' ').slice(1).join(' ');

/** @param {string} root */
function versionIn(root) {
  const manifest = read(join(root, PACKAGE, 'package.json'));
  return manifest && JSON.parse(manifest.toString('utf8')).version;
}

/** @param {string} file */
function read(file) {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}
