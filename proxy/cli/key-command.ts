// `key`: makes, rotates, pauses, resumes, revokes and lists Pool API keys in the file.
import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { rewriteConfig } from '../config/file-replacement.ts';
import { suggestion } from '../config/suggestion.ts';
import type { KeyConfig } from '../turn/settings.ts';
import { addCommand, collect } from './command.ts';
import { inspectValid } from './config-file.ts';
import { makeSecret } from './new-secret.ts';
import { CommandFailure, type Common, type Io, json, table } from './output.ts';

interface CreateOptions extends Common {
  readonly pool?: string;
  readonly model?: readonly string[];
  readonly expiresAt?: string;
}

type Status = KeyConfig['status'];

export function addKeyCommands(program: Command, io: Io): void {
  const key = program.command('key').description('make, rotate, pause, resume, revoke and list Pool API keys');

  addCommand(key, {
    usage: 'create <id>',
    description: 'add a key to the file, and show its secret once',
    examples: [
      'poolgate key create ci --pool team',
      'poolgate key create ci --pool team --model model-a --expires-at 2027-01-01T00:00:00Z',
    ],
  })
    .option('--pool <id>', 'the Pool that it stands for; may be left out where there is only one')
    .option('--model <id>', 'a model that it may use; repeat for several; all where absent', collect)
    .option('--expires-at <time>', 'when it stops to open, such as 2027-01-01T00:00:00Z')
    .action(async (id: string, options: CreateOptions) => {
      const { secret, sha256 } = makeSecret('pg-');
      await rewriteConfig(options.config, ({ config }) => {
        if (config.keys.some((known) => known.id === id))
          throw new CommandFailure(`there is a key '${id}' already; \`poolgate key rotate ${id}\` adds a secret to it`);
        const row = {
          id,
          pool: poolOf(config, options.pool),
          secret_sha256: [sha256],
          status: 'active',
          ...(options.expiresAt !== undefined && { expires_at: options.expiresAt }),
          ...(options.model && { models: options.model }),
        };
        return [{ append: ['keys'], row }];
      });
      show(io, options, { id, secret, note: `key '${id}' was added to ${options.config}` });
    });

  addCommand(key, {
    usage: 'rotate <id>',
    description: 'give a key a further secret, shown once; the old ones open it until they are taken out of the file',
    examples: ['poolgate key rotate ci'],
  }).action(async (id: string, options: Common) => {
    const { secret, sha256 } = makeSecret('pg-');
    await rewriteConfig(options.config, ({ config }) => [{ append: ['keys', indexOf(config, id), 'secret_sha256'], row: sha256 }]);
    show(io, options, {
      id,
      secret,
      note: `key '${id}' has a further secret in ${options.config}; take the old hash out once nobody uses it`,
    });
  });

  for (const [verb, status, description] of VERBS) {
    addCommand(key, { usage: `${verb} <id>`, description, examples: [`poolgate key ${verb} ci`] }).action(
      async (id: string, options: Common) => {
        const changed = await rewriteConfig(options.config, ({ config }) => {
          const index = indexOf(config, id);
          const now = config.keys[index]?.status;
          if (now === status) return [];
          if (now === 'revoked') throw new CommandFailure(`key '${id}' is revoked, and that is final`);
          return [{ set: ['keys', index, 'status'], to: status }];
        });
        io.out(options.json ? json({ id, status, changed }) : `key '${id}' is ${changed ? '' : 'already '}${status}\n`);
      },
    );
  }

  addCommand(key, {
    usage: 'list',
    description: 'list the keys of the file',
    examples: ['poolgate key list', 'poolgate key list --json'],
  }).action(async ({ config: path, json: asJson }: Common) => {
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
  ['resume', 'active', 'let a paused key in again'],
  ['revoke', 'revoked', 'refuse a key for good'],
];

/** The secret alone on stdout, so that it can be piped; what is to be said about it on stderr. */
export function show(
  io: Io,
  { json: asJson }: Common,
  { id, secret, note }: { readonly id: string; readonly secret: string; readonly note: string },
): void {
  if (asJson) io.out(json({ id, secret }));
  else {
    io.out(`${secret}\n`);
    io.err(`${note}. The secret is shown this once: only its hash is kept. A running gateway takes the change up by itself.\n`);
  }
}

function poolOf({ pools }: Config, id: string | undefined): string {
  const [only, ...others] = pools;
  if (id === undefined && only && others.length === 0) return only.id;
  const known = pools.map((pool) => pool.id);
  if (id === undefined) throw new CommandFailure(`--pool is missing; there are ${known.join(', ') || 'none in the file'}`, { exitCode: 2 });
  if (!known.includes(id)) throw new CommandFailure(`there is no Pool '${id}'${suggestion(id, known)}`);
  return id;
}

function indexOf({ keys }: Config, id: string): number {
  const index = keys.findIndex((key) => key.id === id);
  if (index < 0)
    throw new CommandFailure(
      `there is no key '${id}'${suggestion(
        id,
        keys.map((key) => key.id),
      )}`,
    );
  return index;
}
