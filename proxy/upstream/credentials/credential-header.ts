// The header that has an account's credential (AA4).
import type { AccountConfig } from '../../turn/settings.ts';

/** The name of the header, in lower case. */
export const credentialHeader = ({ credential }: Pick<AccountConfig, 'credential'>): string =>
  credential && 'header' in credential ? credential.header.name : 'authorization';
