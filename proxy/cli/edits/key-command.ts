// `key`: creates, rotates, pauses, resumes, revokes and lists the Pool API keys of the file.
import type { Command } from 'commander';
import type { KeyConfig } from '../../turn/settings.ts';
import { addCommand, type CommonOptions, collect, type Io, inspectValid, json, table } from '../command.ts';
import { poolNamed } from '../pool-named.ts';
import { orderEdit } from './ordered-edit.ts';
import { showSecret } from './shown-secret.ts';

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
      const { pool, model, expiresAt } = options;
      const policies = { ...(expiresAt !== undefined && { expires_at: expiresAt }), ...(model && { models: model }) };
      const order = { do: 'key.create', id, pool: poolNamed(await inspectValid(options.config, io), pool), policies } as const;
      const { made } = await orderEdit(order, options, io);
      showSecret(io, options, { id, secret: made?.secret ?? '', note: `key '${id}' was added to ${options.config}` });
    });

  addCommand(key, {
    usage: 'rotate <id>',
    description: 'add a secret to a key and show it once; old secrets work until their hashes are removed from the file',
    examples: ['poolgate key rotate ci'],
  }).action(async (id: string, options: CommonOptions) => {
    const { made } = await orderEdit({ do: 'key.rotate', id }, options, io);
    showSecret(io, options, {
      id,
      secret: made?.secret ?? '',
      note: `a secret was added to key '${id}' in ${options.config}; the last of its hashes is the new one; remove those before it when the old secret is no longer in use`,
    });
  });

  for (const [verb, status, description] of VERBS) {
    addCommand(key, { usage: `${verb} <id>`, description, examples: [`poolgate key ${verb} ci`] }).action(
      async (id: string, options: CommonOptions) => {
        const { changed } = await orderEdit({ do: 'key.status', id, status }, options, io);
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
