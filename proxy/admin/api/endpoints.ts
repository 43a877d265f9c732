// THE ENDPOINTS of the admin API, each with its name, its schemas and its answer. The OpenAPI file is made from this list.
import type { AdminTarget } from '../admin-target.ts';
import { accountActions } from '../answers/account-actions.ts';
import { accountTests } from '../answers/account-test.ts';
import { configuration } from '../answers/configuration.ts';
import { configurationFile } from '../answers/edits/configuration-file.ts';
import { keyEdits } from '../answers/edits/key-endpoints.ts';
import { tokenEdits } from '../answers/edits/operator-token-endpoints.ts';
import { accountPauses, modeChoices } from '../answers/edits/setting-endpoints.ts';
import { LISTS, nodes } from '../answers/lists.ts';
import { accountLogins } from '../answers/logins/account-logins.ts';
import { loginRuns } from '../answers/logins/login-runs.ts';
import type { RunningLogins } from '../answers/logins/running-logins.ts';
import { requestLog } from '../answers/request-log.ts';
import { session } from '../answers/session-endpoint.ts';
import { status } from '../answers/status.ts';
import { usage } from '../answers/usage-endpoint.ts';
import type { Endpoint } from './endpoint.ts';

export const endpoints = (gateway: AdminTarget, logins: RunningLogins): readonly Endpoint[] => [
  session(gateway),
  status(gateway),
  ...LISTS,
  usage,
  ...requestLog(gateway),
  ...accountPauses(gateway),
  ...accountActions(gateway),
  ...accountTests(gateway),
  ...accountLogins(gateway),
  ...loginRuns(gateway, logins),
  ...keyEdits(gateway),
  modeChoices(gateway),
  ...tokenEdits(gateway),
  configurationFile(gateway),
  ...configuration(gateway),
  nodes(gateway),
];
