// The rotated login of an account survives a static bearer that replaces it in the configuration for a time (Q9).
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { folder } from '../../store/adapters.ts';
import { startGateway } from '../../support/gateway.ts';

const FIRST = { access_token: 'at-from-the-file', refresh_token: 'rt-from-the-file' };

test('[Q9] an account whose static bearer was refused has its login again after a restart, when the configuration names it again', async (context) => {
  const files = await folder(context);
  await writeFile(join(files, 'north.json'), JSON.stringify({ tokens: FIRST }));
  let login: unknown;
  let gate = await startGateway({
    store: `sqlite:${files}/poolgate.db`,
    upstream: { accounts: [{ id: 'north', oauth: { ...FIRST, expires_in: 3_600 } }] },
    config: (draft) => {
      const [north] = draft.accounts;
      draft.store_key = { file: `${files}/store.key` };
      login = { oauth: { file: `${files}/north.json`, token_url: `${north.base_url}/oauth/token`, client_id: 'c' } };
      north.credential = login;
    },
  });
  context.after(() => gate.close());
  const turn = async () => (await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hello' } })).status;
  gate.upstream.loginOf('north').expire();
  assert.equal(await turn(), 200, 'the refresh token of the file is used up');

  await writeFile(join(files, 'bearer'), 'wrong');
  await gate.reconfigure((draft) => {
    draft.accounts[0].credential = { bearer: { file: join(files, 'bearer') } };
  });
  assert.notEqual(await turn(), 200);
  assert.equal(gate.account('north').status, 'reauth_required');

  await gate.reconfigure((draft) => {
    draft.accounts[0].credential = login;
  });
  gate = await gate.restarted();
  await fetch(`${gate.adminUrl}/api/accounts/north/relogin`, { method: 'POST', headers: { 'x-poolgate-command': '1' } });
  assert.equal(await turn(), 200);
});
