// GET and POST /api/accounts/{id}/test: the possible cost of an account's test, and the test itself. It changes no health, limit or file
// (AA87).
import { args, flag, name, type ValueOf } from '../../turn/json/field-schemas.ts';
import type { Asker } from '../access/asker.ts';
import type { AdminTarget } from '../admin-target.ts';
import { ApiRefusal, type Endpoint, endpoint } from '../api/endpoint.ts';
import { TEST_PLAN, TEST_REPORT } from '../replies/account-replies.ts';
import type { AccountTestOrder, AccountTestPlan } from '../replies/account-test-report.ts';
import { checkAccount, noAccount } from './account-for.ts';
import { auditWait } from './audit-wait.ts';

const ORDER = args({
  model: name('Exposed model id; the first one that the account serves if absent.'),
  tools: flag('Whether a call of a tool is forced, and its result is sent after it.'),
  turn: flag('False: only the list of models is read.'),
});

export const accountTests = (gateway: AdminTarget): readonly Endpoint[] => [
  endpoint({
    name: 'GET /api/accounts/{id}/test',
    summary: 'What a test of an account would do, and the most that it costs.',
    need: 'view',
    query: ORDER,
    reply: TEST_PLAN,
    refuses: [404, 409],
    answer: ({ asker, path: { id = '' }, query }) => planned(gateway, asker, id, orderOf(query)),
  }),
  endpoint({
    name: 'POST /api/accounts/{id}/test',
    summary: 'Tests an account with turns of its own; leaves one row of the audit.',
    need: 'view',
    query: ORDER,
    reply: TEST_REPORT,
    refuses: [404, 409],
    async answer({ asker, path: { id = '' }, query }) {
      const order = orderOf(query);
      const plan = planned(gateway, asker, id, order);
      const { clock, log, store } = gateway.services;
      const row = { at: gateway.wallTime(), actor: asker.actor, action: 'account.test', target: id, pool: null, fields: [] };
      await auditWait(
        store.audit.record(row).catch(() => log.error('audit_failed', { actor: row.actor, action: row.action })),
        clock,
      );
      return gateway.accountTester.run(plan, order);
    },
  }),
];

/** @throws ApiRefusal */
function planned({ accountTester }: AdminTarget, asker: Asker, id: string, order: AccountTestOrder): AccountTestPlan {
  checkAccount(asker, id);
  const plan = accountTester.plan(id, order);
  if (plan === undefined) throw noAccount(id);
  if (typeof plan === 'string') throw new ApiRefusal(409, plan);
  return plan;
}

const orderOf = ({ model, tools = false, turn = true }: ValueOf<typeof ORDER>): AccountTestOrder => ({ model, tools, turn });
