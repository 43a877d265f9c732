// The addresses of an `oauth` section, or those of the simulated provider, which listens on a free port.
import { SIMULATED_LOGIN } from '../../../turn/settings.ts';

export type LoginAddress = 'token_url' | 'device_url' | 'authorize_url';

const PATHS: Readonly<Record<LoginAddress, string>> = {
  token_url: '/oauth/token',
  device_url: '/oauth/device',
  authorize_url: '/oauth/authorize',
};

/** @param baseOf the base URL of the simulated account */
export function loginAddress(url: string, name: LoginAddress, baseOf: () => string | undefined): string {
  return url === SIMULATED_LOGIN ? `${baseOf() ?? ''}${PATHS[name]}` : url;
}
