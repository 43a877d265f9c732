// Leaves out of a history what only hosted tools can have made, for an account that lacks these tools (AA20).
import type { ItemPlaces } from '../../turn/errors/item-places.ts';
import { isObject, type Json, type JsonObject } from '../../turn/json/json.ts';
import type { AccountModel } from '../../turn/provider/account-model.ts';
import type { Adaptations } from '../../turn/provider/adapted.ts';
import type { ApiAccountConfig } from '../../turn/provider/api-account.ts';
import { runs } from './eligibility/lacks.ts';

/** The tools that the account runs itself, and whether its model takes images. */
interface Hosting {
  readonly web_search: boolean;
  readonly image_generation: boolean;
  readonly tool_search: boolean;
  readonly images: boolean;
}

export const hostingOf = (account: ApiAccountConfig, model: AccountModel | undefined): Hosting => ({
  web_search: runs(account, 'web_search'),
  image_generation: runs(account, 'image_generation'),
  tool_search: runs(account, 'tool_search'),
  images: account.quirks.images !== 'none' && (model?.modalities.includes('image') ?? false),
});

export interface Noted {
  /** Collects the names of what is left out. */
  readonly adapted: Adaptations;
  /** Collects the places of what is left out. */
  readonly places?: ItemPlaces | undefined;
}

/** Leaves out calls of hosted tools and effort updates, whose effort counts already. Returns the same list if nothing is left out. */
export function withoutHostedCalls(items: readonly Json[], hosting: Hosting, { adapted, places }: Noted): readonly Json[] {
  if (!items.some((item) => isObject(item) && mayGo(item, hosting))) return items;
  const kept: Json[] = [];
  for (const item of items) {
    const instead = isObject(item) && mayGo(item, hosting) ? replacement(item, hosting, adapted) : [item];
    if (instead.length === 0) places?.splice(kept.length, 1, 0);
    kept.push(...instead);
  }
  return kept;
}

function mayGo({ type, execution }: JsonObject, { web_search, image_generation, tool_search }: Hosting): boolean {
  switch (type) {
    case 'web_search_call':
      return !web_search;
    case 'image_generation_call':
      return !image_generation;
    case 'tool_search_call':
    case 'tool_search_output':
      return !tool_search && execution !== 'client';
    default:
      return type === 'configuration_update';
  }
}

type LeftOut = 'web_search_call' | 'image_generation_call' | 'tool_search_call' | 'tool_search_output' | 'configuration_update';

function replacement(item: JsonObject, { images }: Hosting, adapted: Adaptations): readonly Json[] {
  adapted.note(`input.${item.type as LeftOut}`);
  const { type, result, output_format: format } = item;
  if (type !== 'image_generation_call' || !images || typeof result !== 'string' || result === '') return [];
  const image_url = `data:image/${typeof format === 'string' ? format : 'png'};base64,${result}`;
  return [{ type: 'message', role: 'user', content: [{ type: 'input_image', image_url }] }];
}
