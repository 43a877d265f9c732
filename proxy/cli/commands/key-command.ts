// `key`: creates, rotates, pauses, resumes, revokes and lists the Pool API keys of the file.
import type { Command } from 'commander';
import { msOfIso } from '../../base/time/iso-time.ts';
import type { Config } from '../../config/config.ts';
import { rewriteConfig } from '../../config/file/file-replacement.ts';
import type { KeyConfig } from '../../turn/settings.ts';
import { addCommand, CommandFailure, type CommonOptions, collect, type Io, indexOfId, inspectValid, json, table } from '../command.ts';
import { makeSecret, showSecret } from '../new-secret.ts';
import { poolNamed } from '../pool-named.ts';

interface CreateOptions extends CommonOptions {
  readonly pool?: string;
  readonly model?: readonly string[];
  readonly expiresAt?: string;
}

type Status = KeyConfig['status'];

export function addKeyCommands(program: Command, io: Io): void {
  const key = program.command('key').description('create, rotate, pause, resume, revoke and list Pool API keys');

  addCommand(key, {
    usage: 'create <id>',
    description: 'add a key to the file and show its secret once',
    examples: [
      'poolgate key create ci --pool team',
      'poolgate key create ci --pool team --model model-a --expires-at 2027-01-01T00:00:00Z',
    ],
  })
    .option('--pool <id>', 'its Pool; optional if the file has only one')
    .option('--model <id>', 'a model that it may use; repeat for several; all if absent', collect)
    .option('--expires-at <time>', 'expiry time, such as 2027-01-01T00:00:00Z')
    .action(async (id: string, options: CreateOptions) => {
      if (options.expiresAt !== undefined && msOfIso(options.expiresAt) <= Date.now())
        throw new CommandFailure(`--expires-at ${options.expiresAt} is in the past`, { exitCode: 2 });
      const { secret, sha256 } = makeSecret('pg-');
      await rewriteConfig(options.config, ({ config }) => {
        if (config.keys.some((known) => known.id === id))
          throw new CommandFailure(`key '${id}' exists already; \`poolgate key rotate ${id}\` adds a secret to it`);
        const row = {
          id,
          pool: poolNamed(config, options.pool),
          secret_sha256: [sha256],
          status: 'active',
          ...(options.expiresAt !== undefined && { expires_at: options.expiresAt }),
          ...(options.model && { models: options.model }),
        };
        return [{ append: ['keys'], row }];
      });
      showSecret(io, options, { id, secret, note: `key '${id}' was added to ${options.config}` });
    });

  addCommand(key, {
    usage: 'rotate <id>',
    description: 'add a secret to a key and show it once; old secrets work until their hashes are removed from the file',
    examples: ['poolgate key rotate ci'],
  }).action(async (id: string, options: CommonOptions) => {
    const { secret, sha256 } = makeSecret('pg-');
    await rewriteConfig(options.config, ({ config }) => [{ append: ['keys', indexOfUsable(config, id), 'secret_sha256'], row: sha256 }]);
    showSecret(io, options, {
      id,
      secret,
      note: `a secret was added to key '${id}' in ${options.config}; the last of its hashes is the new one; remove those before it when the old secret is no longer in use`,
    });
  });

  for (const [verb, status, description] of VERBS) {
    addCommand(key, { usage: `${verb} <id>`, description, examples: [`poolgate key ${verb} ci`] }).action(
      async (id: string, options: CommonOptions) => {
        const changed = await rewriteConfig(options.config, ({ config }) => {
          if (config.keys.find((known) => known.id === id)?.status === status) return [];
          return [{ set: ['keys', indexOfUsable(config, id), 'status'], to: status }];
        });
        io.out(options.json ? json({ id, status, changed }) : `key '${id}' is ${changed ? '' : 'already '}${status}\n`);
      },
    );
  }

  addCommand(key, {
    usage: 'list',
    description: 'list the keys of the file',
    examples: ['poolgate key list', 'poolgate key list --json'],
  }).action(async ({ config: path, json: asJson }: CommonOptions) => {
    const rows = (await inspectValid(path, io)).keys.map(({ secret_sha256, expires_at, ...row }) => ({
      ...row,
      secrets: secret_sha256.length,
      expires_at: expires_at === undefined ? null : new Date(expires_at).toISOString(),
    }));
    if (asJson) return io.out(json(rows));
    const cells = rows.map((row) => [
      row.id,
      row.pool,
      row.status,
      row.expires_at ?? 'never',
      String(row.secrets),
      row.models?.join(' ') ?? 'all',
    ]);
    return io.out(table(['KEY', 'POOL', 'STATUS', 'EXPIRES', 'SECRETS', 'MODELS'], cells));
  });
}

const VERBS: readonly (readonly [verb: string, status: Status, description: string])[] = [
  ['pause', 'paused', 'refuse a key until it is resumed'],
  ['resume', 'active', 'accept a paused key again'],
  ['revoke', 'revoked', 'refuse a key permanently'],
];

/** @throws {CommandFailure} also for a revoked key */
function indexOfUsable({ keys }: Config, id: string): number {
  const index = indexOfId(keys, id, 'key');
  if (keys[index]?.status === 'revoked') throw new CommandFailure(`key '${id}' is revoked, and that is final`);
  return index;
}
