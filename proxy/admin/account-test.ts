// GET and POST /account/test?id=: what a test of an account may cost, and the test itself. It changes no health, limit or file (AA87).
import type { AccountTestOrder, AccountTestPlan } from './account-test-report.ts';
import { type AdminAnswer, adminJson } from './admin-listener.ts';
import type { AdminTarget } from './admin-target.ts';
import { auditWait } from './audit-wait.ts';
import type { ActionRefusal } from './replies.ts';

export function accountTestPlanAnswer(gateway: AdminTarget, query: URLSearchParams): AdminAnswer {
  const plan = planned(gateway, query);
  return 'status' in plan ? plan : adminJson(200, plan);
}

/** Leaves one row of the audit. */
export async function accountTestAnswer(gateway: AdminTarget, query: URLSearchParams): Promise<AdminAnswer> {
  const plan = planned(gateway, query);
  if ('status' in plan) return plan;
  const { clock, log, store } = gateway.services;
  const row = { at: gateway.wallTime(), actor: 'command', action: 'account.test', target: plan.account, pool: null, fields: [] };
  await auditWait(
    store.audit.record(row).catch(() => log.error('audit_failed', { actor: row.actor, action: row.action })),
    clock,
  );
  return adminJson(200, await gateway.accountTester.run(plan, orderOf(query)));
}

function planned({ accountTester }: AdminTarget, query: URLSearchParams): AccountTestPlan | AdminAnswer {
  const id = query.get('id') ?? '';
  const plan = accountTester.plan(id, orderOf(query));
  if (plan === undefined) return adminJson(404, { error: `the running gateway has no account '${id}'` } satisfies ActionRefusal);
  return typeof plan === 'string' ? adminJson(409, { error: plan } satisfies ActionRefusal) : plan;
}

const orderOf = (query: URLSearchParams): AccountTestOrder => ({
  model: query.get('model') ?? undefined,
  tools: query.get('tools') === 'true',
  turn: query.get('turn') !== 'false',
});
