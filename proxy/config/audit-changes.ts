// The audit rows of a configuration change (S9): one for the file, and one for each changed key, operator, account or Pool.
import type { AuditRow, ChangedField } from '../../store/schema/rows.ts';
import type { Json } from '../turn/json/json.ts';
import type { Config } from './config.ts';
import type { ConfigChange } from './config-diff.ts';

export type AuditEntry = Pick<AuditRow, 'action' | 'target' | 'pool' | 'fields'>;

/** The noun in the actions for each list: `key.create`, `account.change`, `operator.remove`. */
const NOUNS: Readonly<Record<string, string>> = { keys: 'key', operators: 'operator', accounts: 'account', pools: 'pool' };

const VERBS: Readonly<Record<ConfigChange['kind'], string>> = {
  added: 'create',
  removed: 'remove',
  changed: 'change',
  reordered: 'change',
};

/** The keys with their Pools, because an operator of a Pool sees the changes of its keys. */
type Keys = readonly Pick<Config['keys'][number], 'id' | 'pool'>[];

export interface AuditContext {
  /** `versionOf` the running configuration. It is the target of the row about the file. */
  readonly version: string;
  readonly before: Keys;
  readonly after: Keys;
}

/** The keys in a redacted configuration that the store has kept. */
export function keysOf(config: Json | undefined): Keys {
  const { keys } = (config ?? {}) as { readonly keys?: Json };
  return Array.isArray(keys) ? keys.filter((key): key is Keys[number] => typeof key?.id === 'string' && typeof key?.pool === 'string') : [];
}

/** The audit rows. The first one is about the file. */
export function auditEntries(changes: readonly ConfigChange[], { version, before, after }: AuditContext): readonly AuditEntry[] {
  const rows = new Map<string, AuditEntry>();
  const whole: ChangedField[] = [];
  for (const change of changes) {
    const subject = subjectOf(change, before, after);
    if (!subject) {
      whole.push(fieldOf(change));
      continue;
    }
    const name = `${subject.action} ${subject.target}`;
    rows.set(name, { ...subject, fields: [...(rows.get(name)?.fields ?? []), fieldOf(change)] });
  }
  return [{ action: 'config.reload', target: version, pool: null, fields: whole }, ...rows.values()];
}

/** Undefined for a change that affects the whole installation. */
function subjectOf({ path, kind }: ConfigChange, before: Keys, after: Keys): Omit<AuditEntry, 'fields'> | undefined {
  const [, list = '', id = '', rest = ''] = /^(\w+)\[([^\]]+)\](.*)$/.exec(path) ?? [];
  const noun = NOUNS[list];
  if (noun === undefined) return undefined;
  const mode = list === 'pools' ? /^\.serving_modes\.(.+)$/.exec(rest)?.[1] : undefined;
  if (mode !== undefined) return { action: 'mode.set', target: `${id}/${mode}`, pool: id };
  const action = `${noun}.${rest === '' ? VERBS[kind] : 'change'}`;
  return { action, target: id, pool: list === 'pools' ? id : list === 'keys' ? poolOf(id, before, after) : null };
}

function poolOf(key: string, before: Keys, after: Keys): string | null {
  const named = (keys: Keys) => keys.find(({ id }) => id === key)?.pool;
  return named(after) ?? named(before) ?? null;
}

/** The field of a change. Scalar values are recorded. Of rows and private values only the change is recorded. */
function fieldOf({ path, kind, from, to }: ConfigChange): ChangedField {
  if (kind === 'changed' && from === undefined) return { path, from: '(changed)', to: '(changed)' };
  return { path: kind === 'changed' ? path : `${path} (${kind})`, from: scalar(from), to: scalar(to) };
}

function scalar(value: ConfigChange['from']): ChangedField['from'] {
  if (value === undefined) return null;
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
}
