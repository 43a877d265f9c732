// Secrets of API accounts in files. A secret that the account refused is read again, because its operator may have replaced it (AA4).
import { resolveSecret } from '../../config/loading/secrets.ts';
import { isApiAccount } from '../../turn/provider/api-account.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import type { Renewal } from '../account-credentials.ts';

export class SecretFiles {
  /** The secrets that were read since the configuration was loaded, by account. */
  readonly #read = new Map<string, { readonly file: string; readonly secret: string }>();

  /** Forgets all secrets, because the configuration and every file were loaded again. */
  clear(): void {
    this.#read.clear();
  }

  /** The secret, if it was read again after the configuration was loaded. */
  of(account: AccountConfig): string | undefined {
    const read = this.#read.get(account.id);
    return read && read.file === fileOf(account) ? read.secret : undefined;
  }

  /** The secret that was read last for the account, even if the account has another file now. */
  last(account: string): string | undefined {
    return this.#read.get(account)?.secret;
  }

  /** @param sent the secret that the account refused */
  async refused(account: AccountConfig, sent: string | undefined): Promise<Renewal> {
    const file = fileOf(account);
    if (file === undefined) return 'refused';
    const secret = await resolveSecret({ file }, [], { folder: '/', env: {}, strictEnv: true });
    if (typeof secret !== 'string' || secret === sent) return 'refused';
    this.#read.set(account.id, { file, secret });
    return 'renewed';
  }
}

function fileOf(account: AccountConfig): string | undefined {
  const { credential } = account;
  if (!isApiAccount(account) || !credential || 'oauth' in credential) return undefined;
  const secret = 'bearer' in credential ? credential.bearer : credential.header;
  return 'file' in secret ? secret.file : undefined;
}
