// What an operator can do about a credential that is missing or was refused, as a command for the account.
import type { AccountConfig, OauthCredential } from '../../turn/settings.ts';

export function credentialAdvice({ id, credential }: Pick<AccountConfig, 'id' | 'credential'>): string {
  if (!credential) return `Add the \`credential\` that its provider demands, then run \`poolgate account relogin ${id}\`.`;
  if ('oauth' in credential) return loginAdvice(id, credential.oauth);
  const secret = 'bearer' in credential ? credential.bearer : credential.header;
  return 'env' in secret
    ? `Set ${secret.env} to a valid secret and start the gateway again, then run \`poolgate account relogin ${id}\`.`
    : `Write a valid secret to ${secret.file}, then run \`poolgate account relogin ${id}\`.`;
}

function loginAdvice(id: string, { file, device_url, authorize_url }: OauthCredential): string {
  const relogin = `log in with the program that writes ${file}, then run \`poolgate account relogin ${id}\`.`;
  if (device_url !== undefined || authorize_url !== undefined) {
    return `Run \`poolgate account login ${id}\`${file === undefined ? '.' : `, or ${relogin}`}`;
  }
  if (file !== undefined) return `Its login comes from a tokens file: ${relogin}`;
  return `Run \`poolgate account import FILE --account ${id}\` with the tokens file of another program, or add device_url or authorize_url to its credential and run \`poolgate account login ${id}\`.`;
}
