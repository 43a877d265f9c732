// Describes how a login ended in one or two sentences, for commands and the console.
import type { LoginReply } from './account-replies.ts';

/** @param isRunning whether a running gateway uses the login already */
export function loginText(
  { account, stored, identity, models, failure, quota }: LoginReply,
  { isRunning }: { readonly isRunning: boolean },
): string {
  const who = identity === null ? '' : ` as '${identity}'`;
  const head = stored ? `account '${account}' is logged in${who}` : `account '${account}' had this login already${who}; nothing changed`;
  if (!isRunning) return `${head}. It is in the store; the gateway reads its quota and its models when it starts`;
  if (failure !== null) return `${head}; its list of models cannot be read (${failure}): \`poolgate doctor\` gives advice`;
  const facts = [
    ...(models === null ? [] : [`${models} ${models === 1 ? 'model' : 'models'}`]),
    ...quota.map(({ window, used_percent }) => `${window} quota ${Math.round(used_percent)} % used`),
  ];
  return facts.length === 0 ? head : `${head}; ${facts.join(', ')}`;
}
