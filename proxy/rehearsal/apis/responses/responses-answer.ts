// Answers the requests of a simulated Responses platform: turns over HTTP and on websockets, and compactions.
import { asList, asString, isAbsent, isObject, type JsonObject } from '../../../turn/json/json.ts';
import { eventsAnswer, jsonAnswer, type SimulatedAnswer } from '../../delivery/answer.ts';
import type { RequestContext } from '../../endpoint-table.ts';
import type { Fault } from '../../faults/fault.ts';
import { compactionItem } from '../../model/output-items.ts';
import { schemaIn } from '../../model/schema-in-text.ts';
import { type SimulatedTurn, simulatedUsage, simulatePrewarm, simulateTurn } from '../../model/simulated-turn.ts';
import { toolsItems } from '../../model/turn-request.ts';
import { missingParameter, objectBody } from '../../request-refusals.ts';
import type { ApiSettings } from '../api-settings.ts';
import { type CheckedResponses, checkResponses, withTypes } from './responses-checks.ts';

/** @throws SimulatedError */
export function responsesAnswer(context: RequestContext, settings: ApiSettings, faults: readonly Fault[]): SimulatedAnswer {
  const body = checkedBody(context, settings, 'http');
  const { events, response } = turnOf(context, body);
  const isWhole = faults.some((fault) => fault.kind === 'form' && fault.is === 'json answer');
  if (body.stream !== true || isWhole) return jsonAnswer(200, response);
  const left = faults.flatMap((fault) => (fault.kind === 'without' ? [fault.type] : []));
  return eventsAnswer(
    events.filter(({ type }) => !left.includes(asString(type) ?? '')),
    {},
  );
}

/** @throws SimulatedError */
export function responsesFrame(context: RequestContext, settings: ApiSettings): SimulatedAnswer {
  const { type: _, ...body } = checkedBody(context, settings, 'frame');
  if (body.generate === false) return eventsAnswer(simulatePrewarm(body, turnContext(context, body)), {});
  // A model has the tools of the whole conversation, while an anchored frame has only the new items.
  const earlier = toolsItems({ previous_response_id: body.previous_response_id ?? null }, context.anchors ?? new Map());
  const whole = earlier.length === 0 ? body : { ...body, input: [...earlier, ...asList(body.input)] };
  return eventsAnswer(turnOf(context, whole).events, {});
}

/** `POST /responses/compact`. @throws SimulatedError */
export function compactAnswer(context: RequestContext, settings: ApiSettings): SimulatedAnswer {
  checkedBody(context, settings, 'compact');
  const { account, ids, now, request } = context;
  const compaction = compactionItem({ ids, account, emit: () => undefined }, 0);
  return jsonAnswer(200, {
    id: ids.next('resp'),
    object: 'response.compaction',
    created_at: Math.floor(now / 1000),
    output: [compaction.item],
    usage: simulatedUsage(request.body.length, [compaction]),
  });
}

const turnOf = (context: RequestContext, body: JsonObject): SimulatedTurn =>
  simulateTurn(withWantedSchema(body), turnContext(context, body));

/** Adds the schema in the instructions as the format, because a model that is asked for any JSON object follows that schema. */
function withWantedSchema(body: JsonObject): JsonObject {
  const format = isObject(body.text) ? body.text.format : undefined;
  const schema = isObject(format) && format.type === 'json_object' ? schemaIn(asString(body.instructions) ?? '') : undefined;
  return schema ? { ...body, text: { format: { type: 'json_schema', schema } } } : body;
}

/** The context of a turn. A platform's cache is chosen by `prompt_cache_key`. */
const turnContext = ({ account, ids, now, request }: RequestContext, body: JsonObject): Parameters<typeof simulateTurn>[1] => ({
  account,
  ids,
  now,
  bytes: request.body.length,
  session: asString(body.prompt_cache_key) ?? 'all',
});

function checkedBody(
  { request, account, catalog, anchors }: RequestContext,
  settings: ApiSettings,
  as: CheckedResponses['as'],
): JsonObject {
  const body = objectBody(request.json);
  if (account.isStrict) checkResponses({ body, account, settings, slugs: catalog.slugs, as, anchors });
  else if (isAbsent(body.model)) throw missingParameter('model');
  return withTypes(body);
}
