// What commands ask of a running gateway about one account; every reply is checked before a command uses it.
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

/** A login may wait for a refresh, and its models and its quota are read. */
const LOGIN_TIMEOUT_MS = 40_000;

/** Four turns, each within its own deadline. */
const TEST_TIMEOUT_MS = 540_000;

/** @throws {CommandFailure} also when the gateway refuses, with its reason */
export async function requestAccountAction(config: AdminAddress, action: 'restore' | 'relogin', id: string): Promise<AccountActionReply> {
  const answer = await ask(config, `POST ${accountPath(id)}/${action}`);
  if (answer.status === 200 && isAccountActionReply(answer.body)) return answer.body;
  throw refusal(answer, 'nothing changed; the file has errors:');
}

/** @throws {CommandFailure} also when the account cannot be tested so, with the reason */
export async function fetchTestPlan(config: AdminAddress, id: string, order: AccountTestOrder): Promise<AccountTestPlan> {
  const answer = await ask(config, `GET ${accountPath(id)}/test`, { query: testQuery(order) });
  if (answer.status === 200 && isAccountTestPlan(answer.body)) return answer.body;
  throw refusal(answer);
}

/** @throws {CommandFailure} as `fetchTestPlan` */
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

/** What the running gateway knows of an account's login, for the login that replaces it. */
export async function fetchLoginState(config: AdminAddress, id: string): Promise<LoginStateReply> {
  const answer = await ask(config, `GET ${accountPath(id)}/login`);
  if (answer.status === 200 && isLoginStateReply(answer.body)) return answer.body;
  throw refusal(answer);
}

/** @throws {CommandFailure} also when the gateway refuses the login, with its reason */
export async function sendLogin(config: AdminAddress, id: string, request: LoginRequest): Promise<LoginReply> {
  const answer = await ask(config, `POST ${accountPath(id)}/login`, { body: request, timeoutMs: LOGIN_TIMEOUT_MS });
  if (answer.status === 200 && isLoginReply(answer.body)) return answer.body;
  throw refusal(answer);
}
