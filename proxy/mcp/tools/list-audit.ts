// `list_audit`: changes of the configuration with their authors, and events about credentials.
import type { AuditRow } from '../../../store/store.ts';
import { args, list, name, nullable, object, text, time, type ValueOf } from '../../turn/json/field-schemas.ts';
import type { OperatorView } from '../operator-view.ts';
import { NEXT_CURSOR, PAGE_ARGS, pageOfLog } from '../paging.ts';
import { instant, iso, msOf } from '../times.ts';
import { tool } from '../tool.ts';

const AUDIT_ROW = object({
  id: text('Id of the audit row.'),
  at: time('When it happened.'),
  actor: text(
    'What made the change: file (config.yaml was saved), command, or another actor; with several nodes of whose file, as in file@node-1.',
  ),
  action: text('Such as key.create, key.change, mode.set, pool.change, account.change, credential.import.'),
  target: text('What was changed: the id of a key, Pool or account, or POOL/MODEL of a serving mode.'),
  pool: nullable(text('Id of the Pool that it concerns; null for a change of an account.')),
  fields: list(
    'The settings that changed. Secrets and addresses show only that they changed.',
    object({
      path: text('Path of the setting.'),
      from: nullable(text('Value before; null if there was none.')),
      to: nullable(text('Value after; null if there is none.')),
    }),
  ),
});

export const listAudit = tool({
  name: 'list_audit',
  title: 'Audit log',
  description:
    'Lists changes of your Pools, their keys, modes and accounts, newest first: what was changed, when, and from which value to which. Use it when ' +
    'something behaves differently than before ("since when is key ci paused?", "who changed the mode of model-a?").',
  input: args({
    id: name('Only the row with this id.'),
    pool: name('Only of this Pool (id).'),
    actor: name('Only of this actor.'),
    action: name('Only with this action, such as key.change.'),
    target: name('Only of this target, such as the id of a key.'),
    since: instant('Only from this time on.'),
    until: instant('Only before this time.'),
    ...PAGE_ARGS,
  }),
  output: object({ audit: list('Newest first.', AUDIT_ROW), ...NEXT_CURSOR }),
  async run({ pool, since, until, limit, cursor, ...filter }, view) {
    const { store } = view.services;
    const page = await pageOfLog({ limit, cursor }, (place) =>
      store.audit.list({
        ...filter,
        ...place,
        pools: view.poolsFor(pool),
        accounts: pool !== undefined ? [] : view.isWhole ? undefined : view.accountIds,
        since: since === undefined ? undefined : msOf(since, view.now()),
        until: until === undefined ? undefined : msOf(until, view.now()),
      }),
    );
    return { audit: page.rows.map((row) => shownAudit(row, view)), next_cursor: page.next_cursor };
  },
});

/** Matches the change of a key's Pool, which names the former Pool. */
const POOL_OF_KEY = /^keys\[[^\]]+\]\.pool( |$)/;

function shownAudit({ id: row, at, actor, action, target, pool, fields }: AuditRow, view: OperatorView): ValueOf<typeof AUDIT_ROW> {
  return {
    ...{ id: row, at: iso(at), actor, action, target, pool },
    fields: fields.map(({ path, from, to }) => {
      const shown = (value: typeof from): string | null => {
        if (value === null) return null;
        return POOL_OF_KEY.test(path) && !view.poolIds.includes(String(value)) ? '(another Pool)' : String(value);
      };
      return { path, from: shown(from), to: shown(to) };
    }),
  };
}
