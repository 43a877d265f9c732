// What Messages clients request besides turns: the tokens of a request, and one model (AM32, AM61).
import type { ModelDirectory } from '../models/model-directory.ts';
import { Refusal } from '../turn/errors/refusal.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import { resolveName } from '../turn/named-model.ts';
import type { NamedModel } from '../turn/surface.ts';
import type { AnswerHandler } from './answer-handler.ts';

/** `POST /v1/messages/count_tokens`. The turn's model is checked before, and no account gets the request. */
export const tokenCountAnswers: AnswerHandler = async (turn, client) => {
  const work = { body: await client.json() };
  await turn.rules.request(work);
  const count = await turn.surface.countTokens?.(work.body, turn);
  if (!count) throw new Refusal('unsupported_endpoint');
  return { status: 200, headers: {}, body: JSON.stringify(count) };
};

/** `GET /v1/models/{model_id}`, for any name that a turn can use. Only Messages clients have this route (AM3). */
export function modelAnswer(models: ModelDirectory): AnswerHandler {
  return (turn) => {
    const { surface, key } = turn;
    if (!surface.modelObject) throw new Refusal('unknown_endpoint');
    const found = modelNamed(turn, models.named(turn.pool, key));
    if (found) return { status: 200, headers: {}, body: JSON.stringify(surface.modelObject(found)) };
    throw key.models ? new Refusal('model_not_allowed', { param: 'model' }) : new Refusal('invalid_model', { param: 'model', status: 404 });
  };
}

function modelNamed({ params, pool }: LiveTurn, listed: readonly NamedModel[]): NamedModel | undefined {
  const has = (id: string): boolean => listed.some((model) => model.id === id);
  const resolved = resolveName(nameIn(params.model_id ?? ''), pool.aliases ?? {}, has);
  return listed.find(({ id }) => id === resolved?.id);
}

function nameIn(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** The models of a list, followed by their aliases, except for aliases with a star. */
export function withAliases(models: readonly NamedModel[], { pool }: Pick<LiveTurn, 'pool'>): readonly NamedModel[] {
  const aliases = Object.entries(pool.aliases ?? {}).flatMap(([id, target]) => {
    const model = id.includes('*') || models.some((one) => one.id === id) ? undefined : models.find((one) => one.id === target);
    return model ? [{ ...model, id, displayName: `${target} (alias ${id})` }] : [];
  });
  return [...models, ...aliases];
}
