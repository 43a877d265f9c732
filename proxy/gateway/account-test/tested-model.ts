// The model of a test's turn: the requested one, or the first one that takes turns, in the first Pool that has the account (AA87).
import type { AccountTestOrder } from '../../admin/replies/account-test-report.ts';
import type { Generation } from '../../server/generation.ts';
import type { AccountConfig, PoolConfig } from '../../turn/settings.ts';
import type { ModelView } from '../../turn/turn.ts';
import type { Services } from '../services.ts';

export interface TestedModel {
  readonly pool: PoolConfig;
  readonly model: ModelView;
}

/** Returns a text with the reason if there is none. */
export function testedModel(
  account: AccountConfig,
  { model: asked }: Pick<AccountTestOrder, 'model'>,
  { models, pools }: Pick<Services, 'models'> & Pick<Generation, 'pools'>,
): TestedModel | string {
  const having = [...pools.values()].filter(({ assignments }) => assignments.some((assignment) => assignment.account === account.id));
  if (having.length === 0) return `account '${account.id}' is in no Pool: assign it to one, or add --no-turn`;
  for (const pool of having) {
    const known = models.models(pool);
    for (const model of known.all()) {
      const source = model.sources.find((one) => one.account === account.id);
      const view = known.get(model.id)?.view;
      if (!source || !view || (asked === undefined ? source.entry.own?.kind === 'embedding' : model.id !== asked)) continue;
      const effective = source.entry.fields.use_responses_lite === true ? 'lite' : 'full';
      return { pool, model: { ...view, mode: view.mode ?? { configured: 'auto', effective, source: 'catalog' } } };
    }
  }
  if (asked !== undefined) return `account '${account.id}' has no model '${asked}'`;
  return `no model of account '${account.id}' is known: its list could not be read, and it declares none`;
}
