// `store backup`, `store restore` and `store check` for the SQLite file of one gateway. PostgreSQL has tools of its own.
import type { Command } from 'commander';
import manifest from '../../../package.json' with { type: 'json' };
import type { CheckedBackup, Manifest } from '../../../store/sqlite/sqlite-backup.ts';
import type { Config } from '../../config/config.ts';
import { inspect, readConfig } from '../../config/loading/load.ts';
import { existingStoreKey } from '../../encryption/store-key.ts';
import { addCommand, CommandFailure, type CommonOptions, type Io, json, table } from '../command.ts';

export function addBackupCommands(store: Command, io: Io): void {
  addCommand(store, {
    usage: 'backup <file>',
    description:
      'write everything in the SQLite store to one file, with the digests of its rows, while a gateway runs or not; the key of the store is not ' +
      'in it: keep that elsewhere',
    examples: ['poolgate store backup backups/monday.db'],
  }).action(async (file: string, { config, json: asJson }: CommonOptions) => {
    const place = await placeOf(config, io, BACK_UP_POSTGRES);
    const { backupSqlite } = await import('../../../store/sqlite/sqlite-backup.ts');
    const made = await backupSqlite(place.path, file, { version: manifest.version, key_check: await keyCheckOf(place.config, io) });
    io.out(
      asJson
        ? json({ file, ...made })
        : `${tableOf(made)}${file} has all rows of ${made.made_at}. It does not have the key of the store.\n`,
    );
  });

  addCommand(store, {
    usage: 'restore <file>',
    description: 'check a backup, and replace the SQLite store with it; stop the gateway first',
    examples: ['poolgate store restore backups/monday.db', 'poolgate store restore backups/monday.db --force'],
  })
    .option('--force', 'move a store that exists aside')
    .action(async (file: string, { config, json: asJson, force = false }: CommonOptions & { readonly force?: boolean }) => {
      const place = await placeOf(config, io, RESTORE_POSTGRES);
      const { checkBackup, restoreSqlite } = await import('../../../store/sqlite/sqlite-backup.ts');
      const checked = await checkBackup(file);
      if (!checked.manifest || checked.faults.length > 0) throw new CommandFailure(checked.faults.join('\n'));
      const aside = await restoreSqlite(file, place.path, { force, now: new Date() });
      const key = await keySentence(checked.manifest, place.config, io);
      if (asJson) io.out(json({ store: place.path, moved_aside: aside ?? null, made_at: checked.manifest.made_at, key: key ?? null }));
      else {
        const moved = aside === undefined ? '' : `The former store is ${aside}.\n`;
        io.out(`${place.path} has the rows of ${checked.manifest.made_at}.\n${moved}${key === undefined ? '' : `${key}\n`}${SPENT}\n`);
      }
    });

  addCommand(store, {
    usage: 'check [file]',
    description: 'check a backup against its digests, or without a file the store itself; exit code 1 if there is a problem',
    examples: ['poolgate store check', 'poolgate store check backups/monday.db'],
  }).action(async (file: string | undefined, { config, json: asJson }: CommonOptions) => {
    if (file === undefined) return checkStore(config, io, asJson);
    const { checkBackup } = await import('../../../store/sqlite/sqlite-backup.ts');
    const checked = await checkBackup(file);
    const place = await inspect(await readConfig(config), { path: config, env: io.env, secrets: false });
    const key = checked.manifest && place.config && (await keySentence(checked.manifest, place.config, io));
    io.out(asJson ? json({ ok: checked.faults.length === 0, ...checked, key: key ?? null }) : textOf(file, checked, key));
    if (checked.faults.length > 0) throw new CommandFailure('');
  });
}

const SPENT = 'A login whose refresh token has been renewed since then has to be made again: `poolgate status` shows it after the start.';

const BACK_UP_POSTGRES =
  'the store is PostgreSQL, whose own tools back it up while the gateway runs: pg_dump --format=custom --file=FILE "$DATABASE_URL"';
const RESTORE_POSTGRES =
  'the store is PostgreSQL, whose own tools restore it: stop all nodes, then pg_restore --clean --if-exists --dbname="$DATABASE_URL" FILE';

interface Place {
  readonly config: Config;
  readonly path: string;
}

/** @throws CommandFailure for PostgreSQL, with this message */
async function placeOf(path: string, { env }: Io, otherwise: string): Promise<Place> {
  const { config } = await inspect(await readConfig(path), { path, env, secrets: false });
  if (!config) throw new CommandFailure(`${path} has errors; \`poolgate check --config ${path}\` lists them`);
  if (typeof config.store !== 'string') throw new CommandFailure(otherwise);
  if (config.store === 'sqlite::memory:') throw new CommandFailure('the store is in memory: nothing of it is kept');
  return { config, path: config.store.slice('sqlite:'.length) };
}

/** A text that distinguishes keys, and reveals nothing else about them. */
async function keyCheckOf({ store_key }: Config, { env }: Io): Promise<string | null> {
  const key = await existingStoreKey(store_key, env);
  return key?.digest('backup').of('key of the store') ?? null;
}

/** Undefined if the key is the right one, or if nothing is known about it. */
async function keySentence({ key_check }: Manifest, config: Config, io: Io): Promise<string | undefined> {
  const own = await keyCheckOf(config, io);
  if (key_check === null || own === key_check) return undefined;
  const which = own === null ? 'There is no key at store_key' : 'The key at store_key is another one than';
  return `${which}${own === null ? ': put' : ' that of the backup: put'} the right one there before the start, or OAuth accounts must log in again.`;
}

async function checkStore(path: string, io: Io, asJson: boolean | undefined): Promise<void> {
  const { config, storeUrl } = await inspect(await readConfig(path), { path, env: io.env, strictEnv: false });
  if (!config || storeUrl === '')
    throw new CommandFailure(`the store of ${path} is not known; \`poolgate check --config ${path}\` lists errors`);
  const { inspectStore } = await import('../../../store/tools/inspection.ts');
  const conditions = await inspectStore(storeUrl, CHECK_MS);
  const lines = conditions.map(
    ({ level, message, advice }) => `${level.padEnd(9)}${message}${advice === undefined ? '' : `\n         -> ${advice}`}\n`,
  );
  const ok = conditions.every(({ level }) => level !== 'problem');
  io.out(asJson ? json({ ok, conditions }) : lines.join(''));
  if (!ok) throw new CommandFailure('');
}

/** The longest integrity check, which reads the whole database. */
const CHECK_MS = 600_000;

const tableOf = ({ tables }: Manifest): string =>
  table(
    ['TABLE', 'ROWS', 'SHA-256'],
    tables.map(({ table: name, rows, digest }) => [name, String(rows), digest.slice(0, 16)]),
  );

function textOf(file: string, { manifest: made, faults }: CheckedBackup, key: string | undefined): string {
  if (!made || faults.length > 0) return `${faults.join('\n')}\n`;
  const said = `${file} is a whole backup of ${made.made_at}, by poolgate ${made.version} with schema version ${made.schema_version}.\n`;
  return `${tableOf(made)}${said}${key === undefined ? '' : `${key}\n`}`;
}
