// `store copy`: copies everything from one database to another, of either engine. backup-commands.ts has the other commands of `store`.
import type { Command } from 'commander';
import type { CopiedCount } from '../../../store/tools/copy.ts';
import { inspect, readConfig } from '../../config/loading/load.ts';
import { addBackupCommands } from '../backups/backup-commands.ts';
import { addCommand, CommandFailure, type CommonOptions, type Io, json, table } from '../command.ts';

interface CopyOptions extends CommonOptions {
  readonly from?: string;
  readonly to: string;
}

export function addStoreCommands(program: Command, io: Io): void {
  const store = program.command('store').description('copy, back up, restore and check the database');

  addCommand(store, {
    usage: 'copy',
    description:
      'copy everything from one database to an empty one; stop the gateway before. A place is sqlite:PATH, postgres:NAME with the name of ' +
      'the environment variable that holds the URL, or a configuration file: its store',
    examples: [
      'poolgate store copy --to postgres:DATABASE_URL',
      'poolgate store copy --from postgres:DATABASE_URL --to sqlite:data/poolgate.db',
      'poolgate store copy --from old.yaml --to new.yaml',
    ],
  })
    .option('--from <place>', 'the source; the store of the configuration file if absent')
    .requiredOption('--to <place>', 'the destination, without any rows')
    .action(async ({ config, from = config, to, json: asJson }: CopyOptions) => {
      const [source, destination] = [await placeOf('--from', from, io), await placeOf('--to', to, io)];
      const { copyStore } = await import('../../../store/tools/copy.ts');
      const counts: CopiedCount[] = [];
      await copyStore(source, destination, (count) => {
        counts.push(count);
        if (!asJson) io.err(`${count.table}: ${count.rows} rows\n`);
      });
      if (asJson) io.out(json({ tables: counts }));
      else
        io.out(`${table(['TABLE', 'ROWS', 'SHA-256'], counts.map(cells))}All rows arrived: counts and digests are those of the source.\n`);
    });
  addBackupCommands(store, io);
}

const cells = ({ table: name, rows, digest }: CopiedCount): readonly string[] => [name, String(rows), digest.slice(0, 16)];

/** The argument of `openStore`. A URL is never an argument of the command, because the list of processes would show its password. */
async function placeOf(option: '--from' | '--to', place: string, { env }: Io): Promise<string> {
  if (/^sqlite:./.test(place)) return place;
  if (/^postgres(?:ql)?:\/\//.test(place)) {
    throw new CommandFailure(`${option}: put the URL into an environment variable, and name that: postgres:NAME`, { exitCode: 2 });
  }
  const [, name] = /^postgres:(\w+)$/.exec(place) ?? [];
  if (name !== undefined) return urlOf(`${option}: the environment variable ${name}`, env[name] ?? '');
  const { config, storeUrl } = await inspect(await readConfig(place), { path: place, env, strictEnv: false });
  if (!config) throw new CommandFailure(`${option}: ${place} has errors; \`poolgate check --config ${place}\` lists them`);
  return storeUrl.startsWith('sqlite:') ? storeUrl : urlOf(`${option}: the store of ${place}`, storeUrl);
}

function urlOf(what: string, url: string): string {
  if (/^postgres(?:ql)?:\/\//.test(url) && URL.canParse(url)) return url;
  throw new CommandFailure(`${what} is not set, or is not a URL such as postgres://USER:PASSWORD@HOST:5432/DATABASE`);
}
