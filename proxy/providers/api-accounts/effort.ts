// The reasoning effort that an account gets: a level that its model declares, in the account's own word (AA45).
import { asString, isList, isObject, type Json } from '../../turn/json/json.ts';
import type { AccountModel } from '../../turn/provider/account-model.ts';
import type { Quirks } from '../../turn/provider/quirks.ts';
import type { Body } from '../../turn/turn.ts';
import type { Adaptations } from './adapted.ts';

/** Ascending. */
const LEVELS: readonly string[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra'];

/** The effort of a request: that of the last update among its items, otherwise of its member (RB15). Undefined where the model decides. */
export function askedEffort({ input, reasoning }: Body): string | undefined {
  for (let i = isList(input) ? input.length - 1 : -1; i >= 0; i--) {
    const item = (input as readonly Json[])[i];
    const effort = isObject(item) && item.type === 'configuration_update' ? effortIn(item.reasoning) : undefined;
    if (effort !== undefined) return effort;
  }
  return effortIn(reasoning);
}

const effortIn = (reasoning: Json | undefined): string | undefined => (isObject(reasoning) ? asString(reasoning.effort) : undefined);

/**
 * The level of the model for this effort: the same, else the nearest declared one below, else the lowest. As it is where no levels are known;
 * undefined where the model does not reason.
 */
export function levelFor(effort: string, levels: readonly string[] | undefined): string | undefined {
  if (!levels || levels.includes(effort)) return effort;
  const known = levels.filter((level) => LEVELS.includes(level)).sort((a, b) => LEVELS.indexOf(a) - LEVELS.indexOf(b));
  const below = known.filter((level) => LEVELS.indexOf(level) < LEVELS.indexOf(effort));
  return below.at(-1) ?? known[0] ?? levels[0];
}

/** The account's word for the effort of the request; `off` disables thinking. Undefined: none is sent. */
export function effortWord(
  body: Body,
  model: AccountModel | undefined,
  { effort_values: words }: Pick<Quirks, 'effort_values'>,
  adapted: Adaptations,
): string | undefined {
  const asked = askedEffort(body);
  if (asked === undefined) return undefined;
  const level = levelFor(asked, model?.reasoningLevels);
  const word = level !== undefined && Object.hasOwn(words, level) ? words[level] : level;
  if (word !== asked) adapted.note('reasoning.effort');
  return word;
}
