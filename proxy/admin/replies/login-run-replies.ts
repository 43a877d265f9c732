// Logins that an operator makes over the API: types and schemas of requests and replies.
import { flag, integer, nullable, object, oneOf, type Schema, text } from '../../turn/json/field-schemas.ts';
import type { LoginRun, LoginWay } from '../../upstream/credentials/login/login-run.ts';
import { LOGIN_WAY } from './account-replies.ts';

export interface LoginRunReply {
  readonly id: string;
  readonly account: string;
  readonly way: LoginWay;
  readonly state: LoginRun['state'];
  readonly seconds_left: number;
  readonly device: { readonly user_code: string; readonly url: string; readonly url_with_code: string | null } | null;
  readonly link: { readonly url: string; readonly redirect_url: string } | null;
  readonly notice: string | null;
  readonly text: string | null;
}

export const NEW_LOGIN = object({ way: LOGIN_WAY }, undefined, {
  another_user: flag('Whether another user than before may have the account from now on.'),
});

export const CALLBACK = object({
  callback: text('The address at which the browser ended, or the code that the provider shows.', { minLength: 1, maxLength: 8_192 }),
});

export const LOGIN_RUN: Schema<LoginRunReply> = object({
  id: text('Names the login; it is known to its operator alone.'),
  account: text('Id of the account.'),
  way: LOGIN_WAY,
  state: oneOf(
    ['waiting', 'storing', 'done', 'failed'],
    'waiting: for a person. storing: the provider is asked for tokens, or they are being stored.',
  ),
  seconds_left: integer('For which it waits for a person.'),
  device: nullable(
    object({
      user_code: text('What a person enters.'),
      url: text('Where.'),
      url_with_code: nullable(text('The address with the code in it, if the provider has one.')),
    }),
  ),
  link: nullable(object({ url: text('What a person opens.'), redirect_url: text('How the address begins at which the browser ends.') })),
  notice: nullable(text('Why the last question to the provider failed; it is asked again.')),
  text: nullable(text('What came of it, in a sentence; null until it has ended.')),
});
