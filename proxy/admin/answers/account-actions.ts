// POST /api/accounts/{id}/restore and …/relogin: changes of an account's state by an operator (S9).
import type { ChangedField } from '../../../store/schema/rows.ts';
import type { CooldownStatus, HealthStatus } from '../../accounts/health/health-status.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import type { Relogin } from '../../upstream/credentials/oauth-account.ts';
import type { Asker } from '../access/asker.ts';
import type { AdminTarget } from '../admin-target.ts';
import { ApiRefusal, type Endpoint, endpoint } from '../api/endpoint.ts';
import { ACCOUNT_ACTION, type AccountActionReply } from '../replies/account-replies.ts';
import { accountFor } from './account-for.ts';
import { auditWait } from './audit-wait.ts';

export const accountActions = (gateway: AdminTarget): readonly Endpoint[] => [
  endpoint({
    name: 'POST /api/accounts/{id}/restore',
    summary: 'Ends the cooldowns of an account and of its models, so it gets turns at once.',
    need: 'view',
    ofFile: true,
    reply: ACCOUNT_ACTION,
    refuses: [404, 409],
    answer: ({ asker, path: { id = '' } }) => restore(gateway, asker, accountFor(gateway, asker, id)),
  }),
  endpoint({
    name: 'POST /api/accounts/{id}/relogin',
    summary: 'Reads the credential of an account again, after another login, and uses it.',
    need: 'view',
    ofFile: true,
    reply: ACCOUNT_ACTION,
    refuses: [404, 409, 422],
    answer: ({ asker, path: { id = '' } }) => relogin(gateway, asker, id),
  }),
];

/** Ends the cooldowns of the account and of its models. */
function restore(gateway: AdminTarget, asker: Asker, { id }: AccountConfig): Promise<AccountActionReply> {
  const before = healthOf(gateway, id);
  if (before?.status === 'reauth_required') {
    throw new ApiRefusal(409, `account '${id}' needs another login: poolgate account relogin ${id}`);
  }
  const fields = stateFields(before);
  gateway.services.capacity.health.reset(id);
  return done(gateway, { actor: asker.actor, action: 'account.restore' }, { account: id, credential: null, fields });
}

/** Reads the account's credential again, and ends the need for another login. @throws ConfigError if the file has errors */
async function relogin(gateway: AdminTarget, asker: Asker, id: string): Promise<AccountActionReply> {
  const { actor } = asker;
  const before = healthOf(gateway, accountFor(gateway, asker, id).id);
  const read = await readCredential(gateway, id, actor);
  const refusal = REFUSALS[read]?.(id);
  if (refusal !== undefined) throw new ApiRefusal(409, refusal);
  const ended = before?.status === 'reauth_required' ? stateFields(before) : [];
  if (ended.length > 0) gateway.services.capacity.health.reset(id);
  // Looked up again, because the file that was read may no longer have the credential.
  const { credential } = accountFor(gateway, asker, id);
  const found = !credential ? null : read === 'imported' ? 'imported' : 'unchanged';
  const imported = found === 'imported' ? [{ path: `accounts[${id}].credential`, from: '(changed)', to: '(changed)' }] : [];
  return done(gateway, { actor, action: 'account.relogin' }, { account: id, credential: found, fields: [...imported, ...ended] });
}

/** The reason why a credential that was read again is not used. */
const REFUSALS: Readonly<Partial<Record<Relogin, (id: string) => string>>> = {
  unreadable: (id) => `the credential file of account '${id}' has no tokens that can be read`,
  no_file: (id) => `account '${id}' has no tokens file: poolgate account login ${id}`,
  former: (id) =>
    `the tokens file of account '${id}' is older than the stored login, which another store_key sealed: its refresh token may be spent. Log in again, or restore that key; where it is certainly not spent, touch the file`,
  failed: (id) => `a refresh of account '${id}' has not ended yet; try again`,
};

/** @throws ConfigError if the configuration file has errors, because a static bearer is read together with it */
async function readCredential({ follower, services: { credentials } }: AdminTarget, id: string, actor: string): Promise<Relogin> {
  const read = credentials.relogin(id);
  if (read) return read;
  const { changes } = await follower.reload(actor);
  return changes.some(({ path }) => path === `accounts[${id}].credential`) ? 'imported' : 'unchanged';
}

/** The fields that a reset changes. */
function stateFields(health: HealthStatus | undefined): readonly ChangedField[] {
  if (!health) return [];
  const path = `accounts[${health.account}]`;
  const status = health.status === 'active' ? [] : [{ path: `${path}.health`, from: health.status, to: 'active' }];
  const cooldown = health.cooldown ? [cooldownField(`${path}.cooldown`, health.cooldown)] : [];
  const models = Object.entries(health.models).map(([model, own]) => cooldownField(`${path}.models[${model}].cooldown`, own));
  return [...status, ...cooldown, ...models];
}

function cooldownField(path: string, { phase, cause, until }: CooldownStatus): ChangedField {
  const end = until === undefined ? phase : `until ${new Date(until).toISOString()}`;
  return { path, from: cause === undefined ? end : `${end}, ${cause}`, to: null };
}

/** Writes the audit row of an action. An action that changed nothing has none. */
async function done(
  gateway: AdminTarget,
  by: { readonly actor: string; readonly action: string },
  reply: AccountActionReply,
): Promise<AccountActionReply> {
  const { account: target, fields } = reply;
  if (fields.length > 0) {
    const { clock, log, store } = gateway.services;
    const row = { at: gateway.wallTime(), ...by, target, pool: null, fields };
    await auditWait(
      store.audit.record(row).catch(() => log.error('audit_failed', by)),
      clock,
    );
  }
  return reply;
}

const healthOf = ({ services }: AdminTarget, id: string): HealthStatus | undefined =>
  services.capacity.health.status().find(({ account }) => account === id);
