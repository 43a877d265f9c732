// `key`: creates, edits, rotates, pauses, resumes, revokes and lists the Pool API keys.
import type { Command } from 'commander';
import type { KeyListing } from '../../admin/replies/listing-replies.ts';
import type { KeyConfig } from '../../turn/settings.ts';
import { addCommand, CommandFailure, type CommonOptions, type Io, inspectValid, json, table } from '../command.ts';
import { listedKeys } from '../gateway/list-calls.ts';
import { unlistedModels } from '../gateway/unknown-names.ts';
import { poolNamed } from '../pool-named.ts';
import { orderEdit } from './ordered-edit.ts';
import { addPolicyOptions, changesOf, type PolicyOptions, policiesOf } from './policy-options.ts';
import { showSecret } from './shown-secret.ts';

interface CreateOptions extends CommonOptions, PolicyOptions {
  readonly pool?: string;
}

type Status = KeyConfig['status'];

export function addKeyCommands(program: Command, io: Io): void {
  const key = program.command('key').description('create, edit, rotate, pause, resume, revoke and list Pool API keys');

  const create = addCommand(key, {
    usage: 'create <id>',
    description: 'add a key to the file and show its secret once',
    examples: [
      'poolgate key create ci --pool team',
      'poolgate key create ci --pool team --model model-a --limit requests_per_day=1000 --expires-at 2027-01-01T00:00:00Z',
    ],
  });
  addPolicyOptions(create)
    .option('--pool <id>', 'its Pool; optional if the file has only one')
    .action(async (id: string, options: CreateOptions) => {
      const policies = policiesOf(options);
      const order = { do: 'key.create', id, pool: poolNamed(await inspectValid(options.config, io), options.pool), policies } as const;
      const { made } = await orderEdit(order, options, io);
      io.err(await unlistedModels(options.config, options.model ?? [], io));
      showSecret(io, options, { id, secret: made.secret, note: `key '${id}' was added to ${options.config}` });
    });

  const edit = addCommand(key, {
    usage: 'edit <id>',
    description: 'change what a key may use; what no option names stays, and `none` removes it',
    examples: [
      'poolgate key edit ci --limit requests_per_day=1000 --limit tokens_per_minute=none',
      'poolgate key edit ci --any-model --effort medium --expires-at none',
    ],
  });
  addPolicyOptions(edit)
    .option('--any-model', 'it may use all models')
    .action(async (id: string, options: CommonOptions & PolicyOptions) => {
      const changes = changesOf(options);
      if (Object.keys(changes).length === 0) throw new CommandFailure('say what changes: see poolgate key edit --help', { exitCode: 2 });
      const { changed } = await orderEdit({ do: 'key.change', id, changes }, options, io);
      io.err(await unlistedModels(options.config, options.model ?? [], io));
      io.out(options.json ? json({ id, changed }) : `key '${id}' ${changed ? 'is changed' : 'was so already'}\n`);
    });

  addCommand(key, {
    usage: 'rotate <id>',
    description: 'add a secret to a key and show it once; old secrets work until their hashes are removed from the file',
    examples: ['poolgate key rotate ci'],
  }).action(async (id: string, options: CommonOptions) => {
    const { made } = await orderEdit({ do: 'key.rotate', id }, options, io);
    showSecret(io, options, {
      id,
      secret: made.secret,
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
    description: 'list the keys of the running gateway, else of the file',
    examples: ['poolgate key list', 'poolgate key list --json'],
  }).action(async (options: CommonOptions) => {
    const rows = await listedKeys(options, io);
    if (options.json) return io.out(json(rows));
    const cells = rows.map((row) => [
      row.id,
      row.pool,
      row.status,
      row.expires_at ?? 'never',
      String(row.secrets),
      row.models?.join(' ') ?? 'all',
      row.limits.map(limitText).join(' ') || 'none',
    ]);
    return io.out(table(['KEY', 'POOL', 'STATUS', 'EXPIRES', 'SECRETS', 'MODELS', 'LIMITS'], cells));
  });
}

/** As in the file and in `--limit`. */
const limitText = ({ type, window, max }: KeyListing['limits'][number]): string =>
  `${type === 'concurrent' ? type : `${type}_per_${window}`}=${max}`;

const VERBS: readonly (readonly [verb: string, status: Status, description: string])[] = [
  ['pause', 'paused', 'refuse a key until it is resumed'],
  ['resume', 'active', 'accept a paused key again'],
  ['revoke', 'revoked', 'refuse a key permanently'],
];
