// The models of the running gateway for explanations: catalogs, account health, quota and load.
import type { Health } from '../accounts/health/health.ts';
import type { CandidateAccounts } from '../accounts/selection/candidate-accounts.ts';
import { bucketWindow } from '../models/context-window.ts';
import type { ModelDirectory } from '../models/model-directory.ts';
import { type Candidates, tiersFrom } from '../models/pool-model.ts';
import type { AvailableModel } from '../models/pool-models.ts';
import type { PoolConfig } from '../turn/settings.ts';
import type { ExplainedCap, LiveModel, LiveModels, LiveSource } from './facts.ts';

export interface LiveModelsOptions {
  readonly models: Pick<ModelDirectory, 'models'>;
  readonly capacity: {
    readonly health: Pick<Health, 'routable'>;
    readonly selection: { readonly candidates: Pick<CandidateAccounts, 'refusal' | 'standing'> };
  };
  readonly spending: { states(pool: PoolConfig): readonly ExplainedCap[] };
}

export function liveModels(options: LiveModelsOptions): LiveModels {
  return {
    caps: (pool) => options.spending.states(pool),
    model(pool, id) {
      const models = options.models.models(pool);
      const known = models.get(id);
      const presence = models.presence(id);
      if (!known)
        return {
          presence: models.isKnown ? presence : 'unknown',
          mode: undefined,
          makesEmbeddings: false,
          entry: undefined,
          sources: [],
          refusal: undefined,
        };
      const refusal = options.capacity.selection.candidates.refusal({ turn: { pool }, scope: id });
      return {
        presence,
        mode: known.view.mode,
        makesEmbeddings: known.view.kind === 'embedding',
        entry: known.view.entry,
        sources: sourcesOf(options, pool, known),
        refusal: refusal && `${refusal.status} ${refusal.code}`,
      };
    },
  };
}

function sourcesOf({ capacity }: LiveModelsOptions, pool: PoolConfig, { model, candidates }: AvailableModel): LiveModel['sources'] {
  const { health, selection } = capacity;
  const higher = candidates.next ? accountsOf(candidates.next) : [];
  return model.sources.map(({ account, assigned, entry, tier }): LiveSource => {
    const own = candidates.preferred.includes(account) ? 'cohort' : candidates.overflow.includes(account) ? 'overflow' : 'smaller';
    const place = higher.includes(account) ? 'higher' : own;
    return {
      account,
      place,
      tier,
      routable: assigned && health.routable(account, model.id),
      lite: entry.fields.use_responses_lite === true,
      window: bucketWindow(entry.ceilings, Object.hasOwn(pool.models, model.id) ? pool.models[model.id] : undefined),
      standing: selection.candidates.standing(pool, model.id, account),
      own: entry.own,
    };
  });
}

const accountsOf = (candidates: Candidates): readonly string[] => [...tiersFrom(candidates)].flatMap(({ preferred }) => preferred);
