// Where a login is stored: at the running gateway, which uses it at once, or in the store of the file.
import type { LoginReply, LoginRequest, LoginStateReply } from '../../admin/replies/account-replies.ts';
import type { LoadedConfig } from '../../config/config.ts';
import { inspect, readConfig } from '../../config/loading/load.ts';
import { ConfigError, isError } from '../../config/schema/finding.ts';
import { CommandFailure, type Io } from '../command.ts';
import { fetchLoginState, sendLogin } from '../gateway/account-calls.ts';
import { adminOf } from '../gateway/address.ts';
import { Unreachable } from '../gateway/ask.ts';
import { requestReload } from '../gateway/calls.ts';

export interface LoginPlace {
  /** The file, with what connections to its accounts need. */
  readonly loaded: Pick<LoadedConfig, 'config' | 'connections' | 'environment'>;
  /** Whether a running gateway stores it. */
  readonly isRunning: boolean;
  state(id: string): Promise<LoginStateReply>;
  /** @throws {CommandFailure} with the reason of a refusal */
  store(id: string, request: LoginRequest): Promise<LoginReply>;
  close(): Promise<void>;
}

/**
 * @param path the path of the configuration file; a running gateway reads it again first, because a command may have edited it a moment ago
 * @throws {CommandFailure} if neither a gateway nor the store can be used
 */
export async function loginPlace(path: string, io: Pick<Io, 'env'>): Promise<LoginPlace> {
  const { config, storeUrl, findings, connections, environment } = await inspect(await readConfig(path), {
    path,
    env: io.env,
    strictEnv: false,
  });
  if (!config) throw new ConfigError(findings.filter(isError));
  const loaded = { config, connections, environment };
  try {
    const gateway = adminOf(config, io, path);
    await requestReload(gateway);
    const close = (): Promise<void> => Promise.resolve();
    return {
      loaded,
      isRunning: true,
      state: (id) => fetchLoginState(gateway, id),
      store: (id, request) => sendLogin(gateway, id, request),
      close,
    };
  } catch (thrown) {
    if (!(thrown instanceof Unreachable)) throw thrown;
  }
  if (storeUrl === '')
    throw new CommandFailure('the environment variable with the URL of the database is not set here: set it, or start the gateway');
  if (storeUrl === 'sqlite::memory:') throw new CommandFailure('the store is in memory: start the gateway, then run the command again');
  // Loaded here, so that other commands start without the store.
  const { StoredLogins } = await import('../../gateway/stored-logins.ts');
  const logins = await StoredLogins.open({ config, storeUrl });
  return {
    loaded,
    isRunning: false,
    state: (id) => logins.state(id),
    store: async (id, request) => {
      const reply = await logins.store(id, request);
      if ('refused' in reply) throw new CommandFailure(reply.refused);
      return reply;
    },
    close: () => logins.close(),
  };
}
