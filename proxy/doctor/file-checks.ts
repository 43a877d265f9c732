// Checks the modes of files that hold secrets or decide where secrets are sent: who can read them, and who can write them.
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { storeFiles } from '../../store/tools/inspection.ts';
import type { Config } from '../config/config.ts';
import type { Diagnosis } from './diagnosis.ts';

const check = 'files';

interface CheckedFile {
  readonly path: string;
  /** `settings`: no secret, but it decides where credentials are sent. `rows`: metadata and encrypted credentials. */
  readonly holds: 'settings' | 'secret' | 'rows';
}

interface Configured {
  readonly config: Config;
  readonly storeUrl: string;
}

/** @param path the path of the configuration file */
export async function fileDiagnoses(path: string, { config, storeUrl }: Configured): Promise<readonly Diagnosis[]> {
  const files: readonly CheckedFile[] = [
    { path, holds: 'settings' },
    ...secretFiles(config).map((secret) => ({ path: secret, holds: 'secret' }) as const),
    ...storeFiles(storeUrl).map((data) => ({ path: data, holds: 'rows' }) as const),
  ];
  const folders = [...new Set(files.map((file) => dirname(file.path)))];
  const found = await Promise.all([...files.map(fileFaults), ...folders.map(folderFaults), keyFaults(config.store_key, storeUrl)]);
  const faults = found.flat();
  return faults.length > 0
    ? faults
    : [{ check, level: 'ok', message: 'No other user can read the secrets, or write the files and folders.' }];
}

function secretFiles({ listen, store, store_key, node, accounts }: Config): readonly string[] {
  const keys = [listen.tls?.key, ...accounts.map(({ tls }) => tls?.key)].filter((key) => key !== undefined);
  const ofProxies = accounts.flatMap(({ proxy }) => (proxy?.credential && 'file' in proxy.credential ? [proxy.credential.file] : []));
  const ofAccounts = accounts.flatMap(({ credential }) => {
    if (!credential) return [];
    if ('oauth' in credential) return credential.oauth.file === undefined ? [] : [credential.oauth.file];
    const secret = 'bearer' in credential ? credential.bearer : credential.header;
    return 'file' in secret ? [secret.file] : [];
  });
  const secrets = [store_key, ...(typeof store === 'string' ? [] : [store.postgres]), ...(node.secret ? [node.secret] : [])];
  return [...new Set([...secrets.flatMap((secret) => ('file' in secret ? [secret.file] : [])), ...ofAccounts, ...ofProxies, ...keys])];
}

const OTHERS_READ = 0o004;
const GROUP_READS = 0o040;
const OTHERS_WRITE = 0o002;
const GROUP_WRITES = 0o020;
const STICKY = 0o1000;

async function fileFaults({ path, holds }: CheckedFile): Promise<readonly Diagnosis[]> {
  const mode = await modeOf(path);
  if (mode === undefined) return [];
  const advice = holds === 'settings' ? `chmod go-w ${path}` : `chmod 600 ${path}`;
  const shown = `(mode ${(mode & 0o7777).toString(8).padStart(4, '0')})`;
  const found = (level: Diagnosis['level'], who: string, can: string): Diagnosis => {
    return { check, level, message: `${path}: ${who} can ${can} it ${shown}.`, advice };
  };
  const faults: Diagnosis[] = [];
  if (mode & OTHERS_WRITE) faults.push(found('problem', 'every user of the machine', 'write'));
  else if (mode & GROUP_WRITES) faults.push(found('warning', 'its group', 'write'));
  if (holds !== 'settings' && mode & OTHERS_READ)
    faults.push(found(holds === 'secret' ? 'problem' : 'warning', 'every user of the machine', 'read'));
  else if (holds === 'secret' && mode & GROUP_READS) faults.push(found('warning', 'its group', 'read'));
  if (!(await readable(path))) {
    const message = `${path} cannot be read by the user of this command.`;
    faults.push({ check, level: 'problem', message, advice: 'Run doctor as the user of the gateway, or give the file to that user.' });
  }
  return faults;
}

/** A user who can write a folder can replace its files, unless the folder is sticky. */
async function folderFaults(path: string): Promise<readonly Diagnosis[]> {
  const mode = await modeOf(path);
  if (mode === undefined || !(mode & OTHERS_WRITE) || mode & STICKY) return [];
  const message = `${path}: every user of the machine can replace files in this folder.`;
  return [{ check, level: 'problem', message, advice: `chmod o-w ${path}` }];
}

/** If the key file is missing, the next start creates a new key, and everything that the old key encrypted is lost. */
async function keyFaults(store_key: Config['store_key'], storeUrl: string): Promise<readonly Diagnosis[]> {
  if (!('file' in store_key) || (await modeOf(store_key.file)) !== undefined) return [];
  const written = await Promise.all(storeFiles(storeUrl).map(modeOf));
  if (written.every((mode) => mode === undefined)) return [];
  return [
    {
      check,
      level: 'warning',
      message: `${store_key.file}: the key of the store is missing, and the store exists.`,
      advice: 'Restore it from its backup. With a new key OAuth accounts log in from their files again, and sessions lose their accounts.',
    },
  ];
}

/** The mode of a file. Undefined if it does not exist, or if its folder cannot be read. Links are followed, as the gateway does. */
const modeOf = (path: string): Promise<number | undefined> =>
  stat(path).then(
    ({ mode }) => mode,
    () => undefined,
  );

const readable = (path: string): Promise<boolean> =>
  access(path, constants.R_OK).then(
    () => true,
    () => false,
  );
