// Requests of commands to a running gateway about one account. Every reply is checked before a command uses it.
import {
  type AccountActionReply,
  isAccountActionReply,
  isAccountTestPlan,
  isAccountTestReply,
  isLoginReply,
  isLoginStateReply,
  type LoginReply,
  type LoginRequest,
  type LoginStateReply,
} from '../../admin/replies/account-replies.ts';
import type { AccountTestOrder, AccountTestPlan, AccountTestReply } from '../../admin/replies/account-test-report.ts';
import type { AdminAddress } from './address.ts';
import { ask, refusal } from './ask.ts';

/** The longest wait for a login, which may wait for a refresh, and for reads of models and quota. */
const LOGIN_TIMEOUT_MS = 40_000;

/** The longest wait for a test, which has at most four turns with deadlines of their own. */
const TEST_TIMEOUT_MS = 540_000;

/** @throws {CommandFailure}, also with the reason if the gateway refuses */
export async function requestAccountAction(config: AdminAddress, action: 'restore' | 'relogin', id: string): Promise<AccountActionReply> {
  const answer = await ask(config, `POST ${accountPath(id)}/${action}`);
  if (answer.status === 200 && isAccountActionReply(answer.body)) return answer.body;
  throw refusal(answer, 'nothing changed; the file has errors:');
}

/** @throws {CommandFailure}, also with the reason if the account cannot be tested in this way */
export async function fetchTestPlan(config: AdminAddress, id: string, order: AccountTestOrder): Promise<AccountTestPlan> {
  const answer = await ask(config, `GET ${accountPath(id)}/test`, { query: testQuery(order) });
  if (answer.status === 200 && isAccountTestPlan(answer.body)) return answer.body;
  throw refusal(answer);
}

/** @throws {CommandFailure} like `fetchTestPlan` */
export async function requestTest(config: AdminAddress, id: string, order: AccountTestOrder): Promise<AccountTestReply> {
  const answer = await ask(config, `POST ${accountPath(id)}/test`, { query: testQuery(order), timeoutMs: TEST_TIMEOUT_MS });
  if (answer.status === 200 && isAccountTestReply(answer.body)) return answer.body;
  throw refusal(answer);
}

const accountPath = (id: string): string => `/api/accounts/${encodeURIComponent(id)}`;

const testQuery = ({ model, tools, turn }: AccountTestOrder): Record<string, string> => ({
  tools: String(tools),
  turn: String(turn),
  ...(model !== undefined && { model }),
});

/** What the running gateway knows about an account's login, which a new login will replace. */
export async function fetchLoginState(config: AdminAddress, id: string): Promise<LoginStateReply> {
  const answer = await ask(config, `GET ${accountPath(id)}/login`);
  if (answer.status === 200 && isLoginStateReply(answer.body)) return answer.body;
  throw refusal(answer);
}

/** @throws {CommandFailure}, also with the reason if the gateway refuses the login */
export async function sendLogin(config: AdminAddress, id: string, request: LoginRequest): Promise<LoginReply> {
  const answer = await ask(config, `POST ${accountPath(id)}/login`, { body: request, timeoutMs: LOGIN_TIMEOUT_MS });
  if (answer.status === 200 && isLoginReply(answer.body)) return answer.body;
  throw refusal(answer);
}
