// POST /account/restore?id= and /account/relogin?id=: what an operator changes of an account's state by hand (S9).

import type { ChangedField } from '../../store/schema/rows.ts';
import type { CooldownStatus, HealthStatus } from '../accounts/health/health-status.ts';
import { ConfigError } from '../config/schema/finding.ts';
import type { AccountConfig } from '../turn/settings.ts';
import type { Relogin } from '../upstream/credentials/oauth-account.ts';
import { type AdminAnswer, adminJson } from './admin-listener.ts';
import type { AdminTarget } from './admin-target.ts';
import { auditWait } from './audit-wait.ts';
import type { AccountActionReply, ActionRefusal, ReloadRefusal } from './replies.ts';

/** Ends the account's cooldowns, and those of its models, as if they had never begun. */
export async function restoreAnswer(gateway: AdminTarget, query: URLSearchParams): Promise<AdminAnswer> {
  const account = accountOf(gateway, query);
  if (!account) return noAccount(query);
  const { id } = account;
  const before = healthOf(gateway, id);
  if (before?.status === 'reauth_required') {
    return refusal(409, `account '${id}' needs another login: poolgate account relogin ${id}`);
  }
  const fields = stateFields(before);
  gateway.services.capacity.health.reset(id);
  return done(gateway, 'account.restore', { account: id, credential: null, fields });
}

/** Reads the account's credential again, and ends its need for another login. */
export async function reloginAnswer(gateway: AdminTarget, query: URLSearchParams): Promise<AdminAnswer> {
  const account = accountOf(gateway, query);
  if (!account) return noAccount(query);
  const { id } = account;
  const before = healthOf(gateway, id);
  try {
    const credential = await readCredential(gateway, account);
    if (credential === 'unreadable') return refusal(409, `the credential file of account '${id}' has no tokens that can be read`);
    if (credential === 'no_file') return refusal(409, `account '${id}' has no tokens file: poolgate account login ${id}`);
    if (credential === 'former') return refusal(409, FORMER(id));
    if (credential === 'failed') return refusal(409, `a refresh of account '${id}' has not ended yet; try again`);
    const ended = before?.status === 'reauth_required' ? stateFields(before) : [];
    if (ended.length > 0) gateway.services.capacity.health.reset(id);
    const imported = credential === 'imported' ? [{ path: `accounts[${id}].credential`, from: '(changed)', to: '(changed)' }] : [];
    return await done(gateway, 'account.relogin', { account: id, credential, fields: [...imported, ...ended] });
  } catch (thrown) {
    if (thrown instanceof ConfigError) return adminJson(422, { findings: thrown.findings } satisfies ReloadRefusal);
    throw thrown;
  }
}

const FORMER = (id: string): string =>
  `the tokens file of account '${id}' is older than the stored login, which another store_key sealed: its refresh token may be spent. Log in again, or restore that key; where it is certainly not spent, touch the file`;

/** @throws ConfigError where the file of the configuration has errors: a static bearer is read with it */
async function readCredential({ follower, services: { credentials } }: AdminTarget, { id }: AccountConfig): Promise<Relogin> {
  const relogin = credentials.relogin(id);
  if (relogin) return relogin;
  const { changes } = await follower.reload('command');
  return changes.some(({ path }) => path === `accounts[${id}].credential`) ? 'imported' : 'unchanged';
}

/** What a reset changes, field by field. */
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

/** An action that changes nothing leaves no row. */
async function done(gateway: AdminTarget, action: string, reply: AccountActionReply): Promise<AdminAnswer> {
  const { account: target, fields } = reply;
  if (fields.length > 0) {
    const { clock, log, store } = gateway.services;
    const row = { at: gateway.wallTime(), actor: 'command', action, target, pool: null, fields };
    const lost = (): void => log.error('audit_failed', { actor: row.actor, action });
    await auditWait(store.audit.record(row).catch(lost), clock);
  }
  return adminJson(200, reply);
}

const accountOf = ({ loaded }: AdminTarget, query: URLSearchParams): AccountConfig | undefined =>
  loaded.config.accounts.find(({ id }) => id === query.get('id'));

const healthOf = ({ services }: AdminTarget, id: string): HealthStatus | undefined =>
  services.capacity.health.status().find(({ account }) => account === id);

const refusal = (status: 404 | 409, error: string): AdminAnswer => adminJson(status, { error } satisfies ActionRefusal);

const noAccount = (query: URLSearchParams): AdminAnswer => refusal(404, `the running gateway has no account '${query.get('id') ?? ''}'`);
