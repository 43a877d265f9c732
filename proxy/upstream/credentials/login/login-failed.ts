// How a login ends without tokens. The message of each end states what the operator can do.

export type LoginEnd = 'denied' | 'expired' | 'state' | 'network' | 'refused' | 'malformed' | 'challenged' | 'stopped';

export class LoginFailed extends Error {
  override readonly name = 'LoginFailed';
  readonly end: LoginEnd;
  /** The message without its advice. */
  readonly reason: string;

  constructor(end: LoginEnd, message: string, reason = message) {
    super(message);
    this.end = end;
    this.reason = reason;
  }
}

const AGAIN = 'begin again';

export const denied = (): LoginFailed =>
  new LoginFailed('denied', `the login was denied at the provider; nothing was stored. To log in, ${AGAIN} and allow the access`);

/** @param seconds the time for which the code was valid */
export const expired = (seconds: number): LoginFailed =>
  new LoginFailed('expired', `the login was not confirmed within ${seconds} s, and its code has expired; ${AGAIN} for another code`);

export const otherState = (): LoginFailed =>
  new LoginFailed(
    'state',
    `the callback belongs to another login (its state differs): nothing was stored. ${capital(AGAIN)}, and open the address that is shown then`,
  );

/** No browser came back in time. @param ms the time that was waited */
export const noCallback = (ms: number): LoginFailed =>
  new LoginFailed('expired', `no browser came back within ${ms / 60_000} min: ${AGAIN}, or log in in another way`);

/** The login was ended by an operator, by another login of the account, or because the process ends. */
export const stopped = (reason: string): LoginFailed => new LoginFailed('stopped', reason);

/** @param code an error code of the system, or `timeout` */
export function unreachable(url: string, code: string): LoginFailed {
  const reason = `${new URL(url).origin} cannot be reached (${code})`;
  return new LoginFailed('network', `${reason}: check the network of this machine and the proxy of the account, then ${AGAIN}`, reason);
}

/** @param word the error code of RFC 6749, or the status if there is none */
export function refusedBy(url: string, word: string): LoginFailed {
  const advice = ADVICE[word] ?? `check client_id, scopes and the addresses in credential.oauth, then ${AGAIN}`;
  return new LoginFailed('refused', `${new URL(url).origin} refuses the login (${word}): ${advice}`);
}

export const challenged = (url: string): LoginFailed =>
  new LoginFailed(
    'challenged',
    `a guard of the network answers in place of ${new URL(url).origin}: log in from another network, or with a link and a pasted address (--paste)`,
  );

/** @param what the expected answer, such as `an answer with tokens` */
export const malformedAnswer = (url: string, what: string): LoginFailed =>
  new LoginFailed(
    'malformed',
    `${new URL(url).origin} does not answer with ${what}: check the addresses in credential.oauth, then ${AGAIN}`,
  );

const ADVICE: Readonly<Record<string, string>> = {
  invalid_client: 'its client_id is not known there; correct credential.oauth.client_id',
  invalid_grant: `the code was used before or has expired; ${AGAIN}`,
  invalid_scope: 'it does not know a scope; correct credential.oauth.scopes',
  unauthorized_client: 'this client may not use this grant; try the other way, a device code or a browser',
  unsupported_grant_type: 'it does not know this grant; try the other way, a device code or a browser',
  server_error: `the provider failed; ${AGAIN} later`,
  temporarily_unavailable: `the provider is overloaded; ${AGAIN} later`,
};

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
