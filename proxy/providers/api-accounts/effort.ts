// The reasoning effort that is sent to an account: a level that its model declares, in the account's own word (AA45).
import type { AccountModel } from '../../turn/provider/account-model.ts';
import type { Adaptations } from '../../turn/provider/adapted.ts';
import { isApiAccount } from '../../turn/provider/api-account.ts';
import type { ProviderApi } from '../../turn/provider/provider-api.ts';
import type { Quirks } from '../../turn/provider/quirks.ts';
import type { Body } from '../../turn/turn.ts';
import { askedEffort, EFFORTS } from '../../turn/wire/efforts.ts';

/**
 * The level of the model for an effort: the same level, otherwise the nearest declared one below it, otherwise the lowest. If no levels are
 * known, the effort itself. Undefined if the model does not reason.
 */
function levelFor(effort: string, levels: readonly string[] | undefined): string | undefined {
  if (!levels || levels.includes(effort)) return effort;
  const known = levels.filter((level) => EFFORTS.includes(level)).sort((a, b) => EFFORTS.indexOf(a) - EFFORTS.indexOf(b));
  const below = known.filter((level) => EFFORTS.indexOf(level) < EFFORTS.indexOf(effort));
  return below.at(-1) ?? known[0] ?? levels[0];
}

/** The account's word for an effort; `off` disables thinking. Undefined if no effort is sent. */
function wordFor(
  asked: string,
  model: AccountModel | undefined,
  { effort_values: words }: Pick<Quirks, 'effort_values'>,
): string | undefined {
  const level = levelFor(asked, model?.reasoningLevels);
  return level !== undefined && Object.hasOwn(words, level) ? words[level] : level;
}

/** The account's word for the effort of a request. */
export function effortWord(
  body: Body,
  model: AccountModel | undefined,
  quirks: Pick<Quirks, 'effort_values'>,
  adapted: Adaptations,
): string | undefined {
  const asked = askedEffort(body);
  if (asked === undefined) return undefined;
  const word = wordFor(asked, model, quirks);
  if (word !== asked) adapted.note('reasoning.effort');
  return word;
}

/** The effort as explanations show it (AA85). */
export const sentEffort: NonNullable<ProviderApi['effort']> = (asked, account, model) => {
  if (!isApiAccount(account)) return asked;
  const { api, quirks, drop_fields } = account;
  if (quirks.effort === 'none') return undefined;
  const member = api === 'responses' || quirks.effort === 'reasoning' ? 'reasoning' : 'reasoning_effort';
  return drop_fields.includes(member) ? undefined : wordFor(asked, model, quirks);
};
