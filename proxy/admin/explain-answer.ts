// GET /explain?method=&path=&key=&model=: explains a turn with the catalogs and account health of the running gateway.

import { RULES } from '../../rules/index.ts';
import { versionOf } from '../config/diff.ts';
import { bucketWindow } from '../models/context-window.ts';
import type { ListedModel } from '../models/pool-models.ts';
import { RouteTable } from '../turn/route-table.ts';
import type { PoolConfig } from '../turn/settings.ts';
import { type AdminAnswer, adminJson } from './admin-listener.ts';
import type { AdminTarget } from './admin-target.ts';
import { explainTurns } from './explain/explanation.ts';
import type { LiveModel, LiveModels, LiveSource } from './explain/facts.ts';
import type { ExplainReply } from './replies.ts';

/** The path is a template of the route table, or a path that matches one, in the words of `wire`. */
export function explainAnswer(gateway: AdminTarget, query: URLSearchParams): AdminAnswer {
  const { config } = gateway.loaded;
  const [method, path] = [query.get('method') ?? '', query.get('path') ?? ''];
  const routes = new RouteTable(config.routes, config.wire);
  const found = routes.find(method, path);
  const route =
    routes.all.find((one) => one.method === method && one.template === path) ?? (found && 'route' in found ? found.route : undefined);
  if (!route) return adminJson(404, { error: 'no such route' });
  const question = { key: query.get('key') ?? undefined, model: query.get('model') ?? undefined };
  const turns = explainTurns(config, route, question, { rules: RULES, live: liveOf(gateway), now: gateway.now() });
  if (!turns) return adminJson(404, { error: 'no such key' });
  return adminJson(200, { version: versionOf(config), turns } satisfies ExplainReply);
}

function liveOf(gateway: AdminTarget): LiveModels {
  return {
    model(pool, id) {
      const models = gateway.services.models.models(pool);
      const known = models.get(id);
      const presence = models.presence(id);
      if (!known) return { presence, mode: undefined, entry: undefined, sources: [] };
      return { presence, mode: known.view.mode, entry: known.view.entry, sources: sourcesOf(gateway, pool, known) };
    },
  };
}

function sourcesOf(gateway: AdminTarget, pool: PoolConfig, { model, candidates }: ListedModel): LiveModel['sources'] {
  const { health, selection } = gateway.services.capacity;
  return model.sources.map(({ account, assigned, entry }): LiveSource => {
    const place = candidates.preferred.includes(account) ? 'cohort' : candidates.overflow.includes(account) ? 'overflow' : 'smaller';
    return {
      account,
      place,
      routable: assigned && health.routable(account, model.id),
      lite: entry.fields.use_responses_lite === true,
      window: bucketWindow(entry.ceilings, Object.hasOwn(pool.models, model.id) ? pool.models[model.id] : undefined),
      health: health.availability(account, model.id),
      until: health.cooldownEnd(account, model.id),
      inFlight: selection.inFlight(account),
    };
  });
}
