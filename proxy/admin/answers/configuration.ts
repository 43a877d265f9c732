// POST /api/reload, GET and POST /api/explain: the running configuration, and its effect on a request.
import { RULES } from '../../../rules/index.ts';
import { versionOf } from '../../config/config-diff.ts';
import { explainTurns } from '../../explain/explanation.ts';
import { liveModels } from '../../explain/live-models.ts';
import { routeNamed } from '../../explain/route-name.ts';
import { name, object, type Schema, type ValueOf } from '../../turn/json/field-schemas.ts';
import type { JsonObject } from '../../turn/json/json.ts';
import { dispatchedKind } from '../../turn/routes/kinds.ts';
import type { Route } from '../../turn/turn.ts';
import type { AdminTarget } from '../admin-target.ts';
import { ApiRefusal, type Endpoint, endpoint } from '../api/endpoint.ts';
import { EXPLAINED, type ExplainReply, RELOADED } from '../replies/configuration-replies.ts';

const QUESTION = object(
  {
    method: name('HTTP method; WS for a websocket.'),
    path: name('A template of the route table, or a path that matches one, in the words of `wire`.'),
  },
  undefined,
  {
    key: name('For this Pool API key (id).'),
    model: name('For this exposed model id.'),
    session: name('For this value of a continuity header; with key.'),
  },
);

export const configuration = (gateway: AdminTarget): readonly Endpoint[] => [
  endpoint({
    name: 'POST /api/reload',
    summary: 'Reads the configuration file again; running turns keep their configuration.',
    need: 'whole',
    ofFile: true,
    reply: RELOADED,
    refuses: [409, 422],
    answer: ({ asker }) => gateway.follower.reload(asker.actor),
  }),
  endpoint({
    name: 'GET /api/explain',
    summary: 'What happens to a request: its rules, accounts and reasons.',
    need: 'whole',
    query: QUESTION,
    reply: EXPLAINED,
    refuses: [404],
    answer: ({ query }) => explained(gateway, query),
  }),
  endpoint({
    name: 'POST /api/explain',
    summary: 'What happens to one request: its body runs through the rules, and is encoded for each account. Nothing is sent or kept.',
    need: 'whole',
    query: QUESTION,
    body: BODY,
    bodyBytes: () => gateway.loaded.config.limits.request_body_bytes,
    reply: EXPLAINED,
    refuses: [404],
    answer: ({ query, body }) => explained(gateway, query, body),
  }),
];

/** The schema of a turn's body, which may be any object. */
const BODY: Schema<JsonObject> = { json: { type: 'object', description: 'The body of a turn of this route.' } };

async function explained(
  gateway: AdminTarget,
  { method, path, key, model, session }: ValueOf<typeof QUESTION>,
  body?: JsonObject,
): Promise<ExplainReply> {
  const { config } = gateway.loaded;
  const route = routeNamed(config, method, path);
  if (!route) throw new ApiRefusal(404, 'no such route');
  if (body && !takesJson(route)) {
    throw new ApiRefusal(400, `a request of ${route.method} ${route.template} has no JSON body for an account`);
  }
  const named = config.keys.find(({ id }) => id === key);
  const question = {
    key,
    model,
    body,
    // A session belongs to a key, so it needs the key's name.
    ...(named && session !== undefined && { session: { account: await gateway.services.continuity.accountOf(named, session) } }),
  };
  const { previews, services } = gateway;
  const sources = { rules: RULES, providerOf: services.providerOf, live: liveModels(services), previews, now: gateway.wallTime() };
  const turns = await explainTurns(config, route, question, sources);
  if (!turns) throw new ApiRefusal(404, 'no such key');
  return { version: versionOf(config), turns };
}

/** Whether the row takes a JSON body. A row that is not served refuses every body. */
function takesJson({ kind }: Route): boolean {
  if (kind === undefined) return true;
  const payload = dispatchedKind(kind)?.payload;
  return payload === 'json' || payload === 'json or form';
}
