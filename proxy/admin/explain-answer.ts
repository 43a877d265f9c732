// GET /explain?method=&path=&key=&model=: what a turn would meet in the running gateway, with its catalogs and its health.

import { versionOf } from '../config/diff.ts';
import type { Gateway } from '../gateway/gateway.ts';
import { bucketWindow } from '../models/context-window.ts';
import type { ListedModel } from '../models/pool-models.ts';
import { RouteTable } from '../turn/route-table.ts';
import type { PoolConfig } from '../turn/settings.ts';
import { type AdminAnswer, adminJson } from './admin-listener.ts';
import { explainTurns } from './explain/explanation.ts';
import type { Live, LiveModel, LiveSource } from './explain/live-facts.ts';

/** The path is a template of the route table or a path that it takes, in the words of the deployment. */
export function explainAnswer(gateway: Gateway, query: URLSearchParams): AdminAnswer {
  const { config } = gateway.loaded;
  const [method, path] = [query.get('method') ?? '', query.get('path') ?? ''];
  const routes = new RouteTable(config.routes, config.wire);
  const found = routes.find(method, path);
  const route =
    routes.all.find((one) => one.method === method && one.template === path) ?? (found && 'route' in found ? found.route : undefined);
  if (!route) return adminJson(404, { error: 'no such route' });
  const question = { key: query.get('key') ?? undefined, model: query.get('model') ?? undefined };
  const turns = explainTurns(config, route, question, { live: liveOf(gateway), now: gateway.now() });
  if (!turns) return adminJson(404, { error: 'no such key' });
  return adminJson(200, { version: versionOf(config), turns });
}

/** Reads no account: a model that nobody lists is told as absent. */
function liveOf(gateway: Gateway): Live {
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

function sourcesOf(gateway: Gateway, pool: PoolConfig, { model, candidates }: ListedModel): LiveModel['sources'] {
  const { health, selection } = gateway.services.capacity;
  return model.sources.map(({ account, assigned, entry }): LiveSource => {
    const place = candidates.preferred.includes(account) ? 'cohort' : candidates.overflow.includes(account) ? 'overflow' : 'smaller';
    return {
      account,
      place,
      routable: assigned && health.routable(account, model.id),
      lite: entry.fields.use_responses_lite === true,
      window: bucketWindow(entry.ceilings, Object.hasOwn(pool.models, model.id) ? pool.models[model.id] : undefined),
      standing: health.standing(account, model.id),
      until: health.until(account, model.id),
      inFlight: selection.inFlight(account),
    };
  });
}
