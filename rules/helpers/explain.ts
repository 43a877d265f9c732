// Sentences of `explain` that several rules share: by serving mode, and by account.
import type { TurnFacts } from '../../proxy/turn/rules/rule.ts';
import type { AccountView } from '../../proxy/turn/turn.ts';

/** What a rule of one serving mode does. If the mode is not known yet, the sentence names the mode. */
export const explainInMode =
  (wanted: 'lite' | 'full', effect: string) =>
  ({ mode }: TurnFacts): string | undefined => {
    if (!mode) return undefined;
    if (mode.effective === null) return `${effect} where the mode is ${wanted === 'lite' ? 'Lite' : 'Full'}`;
    return mode.effective === wanted ? effect : `does nothing: the mode is ${mode.effective === 'lite' ? 'Lite' : 'Full'}`;
  };

/** What a rule does at each account of the Pool; `settingOf` returns undefined for an account without that setting. */
export function explainPerAccount(
  { accounts, model }: TurnFacts,
  settingOf: (account: AccountView, model: string) => string | undefined,
): string | undefined {
  if (model === undefined) return undefined;
  const effects = accounts.flatMap((account) => {
    const setting = settingOf(account, model);
    return setting === undefined ? [] : [`${account.id}: ${setting}`];
  });
  return effects.length === 0 ? 'does nothing: no account of the Pool is configured for it' : effects.join('; ');
}
