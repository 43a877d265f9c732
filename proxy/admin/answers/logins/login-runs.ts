// POST /api/accounts/{id}/logins, and GET, DELETE and POST …/callback of /api/logins/{login}: a login that an operator makes in the
// browser.
import { type Clock, withDeadline } from '../../../base/time/clock.ts';
import { PASTED } from '../../../upstream/credentials/login/code-login.ts';
import { otherState, stopped } from '../../../upstream/credentials/login/login-failed.ts';
import type { LoginRun } from '../../../upstream/credentials/login/login-run.ts';
import type { Asker } from '../../access/asker.ts';
import type { AdminTarget } from '../../admin-target.ts';
import { ApiRefusal, type Endpoint, endpoint } from '../../api/endpoint.ts';
import { CALLBACK, LOGIN_RUN, type LoginRunReply, NEW_LOGIN } from '../../replies/login-run-replies.ts';
import { accountFor, checkAccount } from '../account-for.ts';
import { oauthOf, waysOf } from './oauth-section.ts';
import type { NewLogin, RunningLogins } from './running-logins.ts';

/** The longest wait for the tokens of a callback. After it the page asks again. */
const TOKENS_MS = 20_000;

export const loginRuns = (gateway: AdminTarget, logins: RunningLogins): readonly Endpoint[] => [
  endpoint({
    name: 'POST /api/accounts/{id}/logins',
    summary: 'Starts a login of an account, and ends its open one; a browser then continues the login.',
    need: 'view',
    body: NEW_LOGIN,
    reply: LOGIN_RUN,
    refuses: [404, 409],
    answer: ({ asker, path: { id: account = '' }, body: { way, another_user: anotherUser = false } }) =>
      begun({ gateway, logins }, { account, way, anotherUser, asker }),
  }),
  endpoint({
    name: 'GET /api/logins/{login}',
    summary: 'A login that you started: whether it is open, and its result. It is kept for 5 minutes after its end.',
    need: 'view',
    reply: LOGIN_RUN,
    refuses: [404, 409],
    answer: ({ asker, path: { login = '' } }) => shown(gateway, login, runFor(logins, asker, login)),
  }),
  endpoint({
    name: 'POST /api/logins/{login}/callback',
    summary: 'Continues a login by link with what its browser ended at, or with the code that the provider shows.',
    need: 'view',
    body: CALLBACK,
    reply: LOGIN_RUN,
    refuses: [404, 409],
    async answer({ asker, path: { login = '' }, body: { callback } }) {
      const run = runFor(logins, asker, login);
      const result = run.isUnderWay ? run.paste(callback) : 'taken';
      if (result === 'none') throw new ApiRefusal(400, `that is not a callback: paste ${PASTED}`, { param: 'callback' });
      if (result === 'other') throw new ApiRefusal(400, otherState().message, { param: 'callback' });
      await withDeadline(run.ended, gateway.services.clock, TOKENS_MS);
      return shown(gateway, login, run);
    },
  }),
  endpoint({
    name: 'DELETE /api/logins/{login}',
    summary: 'Ends a login while it waits for a person.',
    need: 'view',
    reply: LOGIN_RUN,
    refuses: [404, 409],
    answer({ asker, path: { login = '' } }) {
      const run = runFor(logins, asker, login);
      run.stop(stopped('the login was cancelled; nothing was stored'));
      return shown(gateway, login, run);
    },
  }),
];

interface Sources {
  readonly gateway: AdminTarget;
  readonly logins: RunningLogins;
}

async function begun({ gateway, logins }: Sources, login: NewLogin): Promise<LoginRunReply> {
  const { asker, way } = login;
  const account = accountFor(gateway, asker, login.account);
  if (!waysOf(oauthOf(account)).includes(way)) {
    throw new ApiRefusal(409, `account '${account.id}' cannot be logged in this way: GET /api/accounts/${account.id}/login has its ways`);
  }
  const id = await logins.begin(login);
  if (id === undefined) {
    throw new ApiRefusal(409, 'there are as many open logins as limits.logins permits: end one, or wait until one ends');
  }
  return shown(gateway, id, runFor(logins, asker, id));
}

/** @throws ApiRefusal, also if the asker has lost the right since the login began */
function runFor(logins: RunningLogins, asker: Asker, id: string): LoginRun {
  const run = logins.find(id, asker.actor);
  if (run === 'elsewhere')
    throw new ApiRefusal(409, 'the login was begun at another node, which alone can continue it', { code: 'other_node' });
  if (!run) throw new ApiRefusal(404, 'there is no such login: it ended a while ago, or the gateway was started again; begin again');
  checkAccount(asker, run.account);
  return run;
}

function shown(
  { services: { clock } }: { readonly services: { readonly clock: Pick<Clock, 'now'> } },
  id: string,
  run: LoginRun,
): LoginRunReply {
  const { account, way, state, device, link, notice = null, text = null } = run;
  return {
    ...{ id, account, way, state, notice, text },
    seconds_left: state === 'waiting' ? Math.max(0, Math.ceil((run.endsAt - clock.now()) / 1_000)) : 0,
    device: device ? { user_code: device.userCode, url: device.url, url_with_code: device.urlWithCode ?? null } : null,
    link: link ? { url: link.url, redirect_url: link.redirectUrl } : null,
  };
}
