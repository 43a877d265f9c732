// Accounts that log in: their tokens file, and another login after the provider has revoked the former one.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RehearsalAccount } from '../../../proxy/rehearsal/account/simulated-account.ts';
import type { Draft } from '../../support/gateway.ts';
import type { Stage } from './stage.ts';

const ACCESS = 'at-from-the-file';
const CLIENT = 'client-1';

const firstToken = (account: string): string => `rt-${account}-first`;

export const loginAccount = (id: string): RehearsalAccount => ({
  id,
  oauth: { refresh_token: firstToken(id), access_token: ACCESS, client_id: CLIENT },
});

const fileOf = (folder: string, account: string): string => join(folder, 'logins', `${account}.json`);

function write(folder: string, account: string, refresh_token: string): void {
  mkdirSync(join(folder, 'logins'), { recursive: true });
  writeFileSync(
    fileOf(folder, account),
    JSON.stringify({ tokens: { access_token: ACCESS, refresh_token, account_id: account, id_token: 'it' } }),
  );
}

/** The credential for an account's row. It also writes the file. */
export function loginCredential(folder: string, { id, base_url }: Draft): Draft {
  write(folder, id, firstToken(id));
  return { oauth: { file: fileOf(folder, id), token_url: `${base_url}/oauth/token`, client_id: CLIENT } };
}

let logins = 0;

/** Logs the account in again, as an operator would. The running gateway reads the file. */
export async function logIn(stage: Stage, account: string): Promise<void> {
  logins += 1;
  const token = `rt-${account}-${logins}`;
  stage.upstream.loginOf(account).renew(token);
  write(stage.folder, account, token);
  await (await stage.admin(`/api/accounts/${account}/relogin`, 'POST')).arrayBuffer();
}
