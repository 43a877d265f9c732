// The models that a turn continues with, in order, if no account can serve the model that it asks for (AA74, AA75).
import type { PoolConfig } from '../settings.ts';
import { asksForCompaction } from '../trigger-item.ts';
import type { Body } from '../turn.ts';
import type { Kind } from './kinds.ts';

/** The request for which fallbacks are looked up. */
export interface FallbackQuery {
  /** The id of its model, without its alias. */
  readonly model: string | undefined;
  readonly kind: Kind | undefined;
  readonly body: Body | undefined;
}

/** Undefined if the model has no fallbacks, and for requests other than ordinary turns. */
export function fallbacksOf(models: PoolConfig['models'], { model, kind, body }: FallbackQuery): readonly string[] | undefined {
  if (model === undefined || kind?.served !== 'dispatch' || !kind.model || kind.path !== 'responses') return undefined;
  const fallback = Object.hasOwn(models, model) ? models[model]?.fallback : undefined;
  return fallback && !(body && asksForCompaction(body)) ? fallback : undefined;
}
