// GET /explain?method=&path=&key=&model=&session=: explains a turn with the catalogs and account health of the running gateway.

import { RULES } from '../../rules/index.ts';
import { versionOf } from '../config/diff.ts';
import { explainTurns } from '../explain/explanation.ts';
import { liveModels } from '../explain/live-models.ts';
import { routeNamed } from '../explain/route-name.ts';
import { type AdminAnswer, adminJson } from './admin-listener.ts';
import type { AdminTarget } from './admin-target.ts';
import type { ExplainReply } from './replies.ts';

/** The path is a template of the route table, or a path that matches one, in the words of `wire`. */
export async function explainAnswer(gateway: AdminTarget, query: URLSearchParams): Promise<AdminAnswer> {
  const { config } = gateway.loaded;
  const route = routeNamed(config, query.get('method') ?? '', query.get('path') ?? '');
  if (!route) return adminJson(404, { error: 'no such route' });
  const named = config.keys.find(({ id }) => id === query.get('key'));
  const session = query.get('session') ?? undefined;
  const question = {
    key: query.get('key') ?? undefined,
    model: query.get('model') ?? undefined,
    // A session belongs to a key.
    ...(named && session !== undefined && { session: { account: await gateway.services.continuity.accountOf(named, session) } }),
  };
  const { providerOf } = gateway.services;
  const sources = { rules: RULES, providerOf, live: liveModels(gateway.services), now: gateway.wallTime() };
  const turns = explainTurns(config, route, question, sources);
  if (!turns) return adminJson(404, { error: 'no such key' });
  return adminJson(200, { version: versionOf(config), turns } satisfies ExplainReply);
}
