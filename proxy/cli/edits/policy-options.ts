// The options of `key create` and `key edit` that set what a key may use.
import type { Command } from 'commander';
import { LIMIT_NAMES } from '../../admin/replies/edit-replies.ts';
import type { KeyPolicies } from '../../config/file/edits/key-edits.ts';
import type { KeyPolicyChanges } from '../../config/file/edits/key-policy-edits.ts';
import { suggestion } from '../../config/schema/suggestion.ts';
import { CommandFailure, collect } from '../command.ts';

export interface PolicyOptions {
  readonly model?: readonly string[];
  readonly anyModel?: boolean;
  readonly expiresAt?: string;
  readonly effort?: string;
  readonly effortAlways?: string;
  readonly outputTokens?: string;
  readonly limit?: readonly string[];
}

/** The value of an option that removes a policy. */
const NONE = 'none';

export const addPolicyOptions = (command: Command): Command =>
  command
    .option('--model <id>', 'a model that it may use; repeat for several; all if absent', collect)
    .option('--expires-at <time>', 'expiry time, such as 2027-01-01T00:00:00Z')
    .option('--effort <level>', 'the most reasoning effort of its turns, such as medium')
    .option('--effort-always <level>', 'the reasoning effort of all its turns')
    .option('--output-tokens <count>', 'the most output tokens that a turn may ask for')
    .option('--limit <name=value>', `a limit; repeat for several: ${LIMIT_NAMES.join(', ')}`, collect);

/** The changes of the options, in which null removes a policy. @throws {CommandFailure} */
export function changesOf({ model, anyModel, expiresAt, effort, effortAlways, outputTokens, limit }: PolicyOptions): KeyPolicyChanges {
  if (anyModel && model) throw usage('--model and --any-model exclude each other');
  if (effort !== undefined && effortAlways !== undefined) throw usage('--effort and --effort-always exclude each other');
  return {
    ...(expiresAt !== undefined && { expires_at: expiresAt === NONE ? null : expiresAt }),
    ...(model && { models: model }),
    ...(anyModel && { models: null }),
    ...(effort !== undefined && { reasoning_effort: effort === NONE ? null : { allow_up_to: effort } }),
    ...(effortAlways !== undefined && { reasoning_effort: { always: effortAlways } }),
    ...(outputTokens !== undefined && { output_tokens: outputTokens === NONE ? null : { max: numberOf('--output-tokens', outputTokens) } }),
    ...(limit && { limits: Object.fromEntries(limit.map(limitOf)) }),
  };
}

/** The policies of a new key, from which nothing can be removed. @throws {CommandFailure} */
export function policiesOf(options: PolicyOptions): KeyPolicies {
  const { limits, ...changes } = changesOf(options);
  const removed = [...Object.entries(changes), ...Object.entries(limits ?? {})].find(([, value]) => value === null);
  if (removed) throw usage(`${removed[0]}: a new key has nothing to remove`);
  return { ...changes, ...(limits && { limits }) } as KeyPolicies;
}

function limitOf(text: string): readonly [name: string, value: number | null] {
  const [, name = '', value = ''] = /^([^=]*)=(.*)$/.exec(text) ?? [];
  if (!(LIMIT_NAMES as readonly string[]).includes(name)) {
    const known = suggestion(name || text, LIMIT_NAMES) || `; known: ${LIMIT_NAMES.join(', ')}`;
    throw usage(`--limit ${text}: write NAME=VALUE, or NAME=none${known}`);
  }
  return [name, value === NONE ? null : numberOf(`--limit ${name}`, value)];
}

function numberOf(option: string, text: string): number {
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text);
  throw usage(`${option}: '${text}' is no number`);
}

const usage = (message: string): CommandFailure => new CommandFailure(message, { exitCode: 2 });
