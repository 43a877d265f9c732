// `account login`: logs an account in at its provider, by default as the same user as before.
import type { Command } from 'commander';
import type { LoginReply, LoginStateReply } from '../../admin/replies/account-replies.ts';
import { loginText } from '../../admin/replies/login-text.ts';
import { indexIn } from '../../config/file/edits/invalid-edit.ts';
import type { OauthCredential } from '../../turn/settings.ts';
import type { Tokens } from '../../upstream/credentials/tokens.ts';
import { addCommand, CommandFailure, type CommonOptions, type Io, inspectValid, json } from '../command.ts';
import type { Grant } from './login-flow.ts';
import { type LoginPlace, loginPlace } from './login-place.ts';
import { requiredOauth } from './required-oauth.ts';

interface LoginOptions extends CommonOptions {
  readonly device?: boolean;
  readonly browser?: boolean;
  readonly paste?: boolean;
  readonly anotherUser?: boolean;
}

export function addAccountLogin(account: Command, io: Io): void {
  addCommand(account, {
    usage: 'login <id>',
    description:
      'log an account in at its provider, with the addresses of its `oauth` section; a running gateway uses the login at once, else it is kept ' +
      'in the store',
    examples: ['poolgate account login north', 'poolgate account login north --paste      (on a machine without a browser)'],
  })
    .option('--device', 'show a code that is entered in any browser; the default where the account has a device_url')
    .option('--browser', 'open an address in a browser of this machine')
    .option('--paste', 'open an address in any browser, and paste the address that it ends at')
    .option('--another-user', 'accept another user than that of the last login')
    .action(async (id: string, options: LoginOptions) => {
      const { accounts } = await inspectValid(options.config, io);
      const account = accounts[indexIn(accounts, id, 'account')];
      const grant = grantOf(requiredOauth(account, id), id, options);
      const place = await loginPlace(options.config, io);
      try {
        const reply = await login(place, { id, grant, anotherUser: options.anotherUser ?? false }, io);
        io.out(options.json ? json({ ...reply, running: place.isRunning }) : `${loginText(reply, place)}\n`);
      } finally {
        await place.close();
      }
    });
}

export interface LoginCommandOptions {
  readonly id: string;
  readonly grant: Grant;
  readonly anotherUser: boolean;
}

/** @throws {CommandFailure} with what to do */
async function login(place: LoginPlace, { id, grant, anotherUser }: LoginCommandOptions, io: Io): Promise<LoginReply> {
  const state = await place.state(id);
  const account = place.loaded.config.accounts.find((one) => one.id === id);
  if (!account) throw new CommandFailure(`there is no account '${id}'`);
  // Loaded here, so that other commands start without the carriers.
  const [{ egressOf }, { loginByHand }] = await Promise.all([import('../../upstream/egress/egress.ts'), import('./login-flow.ts')]);
  const way = { oauth: { ...requiredOauth(account, id), ...addressesOf(state) }, grant, egress: egressOf(account, place.loaded) };
  const tokens = await loginByHand(way, io);
  return place.store(id, {
    tokens: membersOf(tokens),
    ...(tokens.expiresAt !== undefined && { expires_at: tokens.expiresAt }),
    by: 'login',
    former: state.login?.name ?? null,
    another_user: anotherUser,
  });
}

/** The grant that the options name, otherwise the first one that the account has. */
function grantOf(
  oauth: OauthCredential,
  id: string,
  { device, browser, paste }: Pick<LoginOptions, 'device' | 'browser' | 'paste'>,
): Grant {
  const asked = [device && 'device', browser && 'browser', paste && 'paste'].filter((one): one is Grant => typeof one === 'string');
  const [grant = oauth.device_url === undefined ? 'browser' : 'device', ...others] = asked;
  if (others.length > 0) throw new CommandFailure('--device, --browser and --paste exclude each other', { exitCode: 2 });
  const setting = grant === 'device' ? 'device_url' : 'authorize_url';
  if (oauth[setting] !== undefined) return grant;
  throw new CommandFailure(
    asked.length > 0
      ? `account '${id}' has no ${setting}: add the address of its provider to credential.oauth, or log in in another way`
      : `account '${id}' has neither device_url nor authorize_url: add an address of its provider to credential.oauth, or take over a tokens file: poolgate account import FILE --account ${id}`,
  );
}

/** The addresses of the login. Those of a simulated account are known only to the running gateway. */
function addressesOf({ account, addresses }: LoginStateReply): Partial<OauthCredential> {
  if (!addresses) throw new CommandFailure(`the running gateway has no login of account '${account}': run poolgate reload`);
  const { token_url, device_url, authorize_url } = addresses;
  if (token_url === 'rehearsal:') {
    throw new CommandFailure('the simulated provider is part of the gateway: start the gateway, then run the command again');
  }
  return { token_url, ...(device_url !== null && { device_url }), ...(authorize_url !== null && { authorize_url }) };
}

/** The tokens with the names of a tokens file. */
const membersOf = ({ access, refresh, id, account }: Tokens): Readonly<Record<string, string>> => ({
  ...(access !== undefined && { access_token: access }),
  ...(refresh !== undefined && { refresh_token: refresh }),
  ...(id !== undefined && { id_token: id }),
  ...(account !== undefined && { account_id: account }),
});
