// THE ENDPOINTS of the admin API. Each has its name, its schemas and its answer; the OpenAPI file is made of this list.
import type { AdminTarget } from '../admin-target.ts';
import { accountActions } from '../answers/account-actions.ts';
import { accountPauses } from '../answers/account-pauses.ts';
import { accountTests } from '../answers/account-test.ts';
import { configuration } from '../answers/configuration.ts';
import { LISTS } from '../answers/lists.ts';
import { accountLogins } from '../answers/login-actions.ts';
import { requestLog } from '../answers/request-log.ts';
import { session } from '../answers/session.ts';
import { status } from '../answers/status.ts';
import { usage } from '../answers/usage.ts';
import type { Endpoint } from './endpoint.ts';

export const endpoints = (gateway: AdminTarget): readonly Endpoint[] => [
  session,
  status(gateway),
  ...LISTS,
  usage,
  ...requestLog(gateway),
  ...accountPauses(gateway),
  ...accountActions(gateway),
  ...accountTests(gateway),
  ...accountLogins(gateway),
  ...configuration(gateway),
];
