// `client NAME`: prints the settings with which a client program uses this gateway.
import type { Command } from 'commander';
import type { Config } from '../../config/config.ts';
import { indexIn } from '../../config/file/edits/invalid-edit.ts';
import { CLIENTS, KEY_VARIABLE } from '../../pages/client-settings.ts';
import { clientNamed } from '../client-named.ts';
import { addCommand, CommandFailure, type CommonOptions, type Io, inspectValid, json, originOf, table } from '../command.ts';

interface ClientOptions extends CommonOptions {
  readonly key?: string;
  readonly model?: string;
}

export function addClient(program: Command, io: Io): void {
  addCommand(program, {
    usage: 'client [name]',
    description: 'print the settings of a client for this gateway; without a name, list the clients',
    examples: ['poolgate client', 'poolgate client codex', 'poolgate client opencode --key ci --model model-a'],
  })
    .option('--key <id>', 'for this Pool API key')
    .option('--model <id>', 'with this exposed model id; default: the first of the models of the key, else MODEL')
    .action(async (name: string | undefined, { config: path, json: asJson, key: keyId, model }: ClientOptions) => {
      if (name === undefined) return io.out(asJson ? json(CLIENTS) : clientTable());
      const client = clientNamed(name);
      const config = await inspectValid(path, io);
      const key = keyId === undefined ? undefined : config.keys[indexIn(config.keys, keyId, 'key')];
      const address = { origin: publicOrigin(config), agent: config.wire.agent, model: model ?? key?.models?.[0] ?? 'MODEL' };
      const text = client.text(address);
      const { title, where, language } = client;
      const note = [client.needs, client.note].filter((part) => part !== undefined).join(' ');
      if (asJson) return io.out(json({ client: name, where, language, text, key_variable: KEY_VARIABLE, note: note || null }));
      const holder = key ? `key '${key.id}' of Pool '${key.pool}', which is ${key.status}` : 'a Pool API key';
      io.err(`${title}, ${where}. ${KEY_VARIABLE} is the secret of ${holder}.${note && ` ${note}`}\n`);
      return io.out(`${text}\n`);
    });
}

function publicOrigin({ listen }: Config): string {
  if (listen.port === 0) throw new CommandFailure('the listener takes a free port (listen.port: 0), so its address is not known');
  if (listen.port === false) throw new CommandFailure(`the gateway has no port: its clients connect to the socket ${listen.unix?.path}`);
  const { host, port, tls } = listen;
  return originOf({ host, port, scheme: tls ? 'https' : 'http' });
}

const clientTable = (): string =>
  table(
    ['NAME', 'CLIENT', 'API', 'WHERE', 'TRIED WITH'],
    CLIENTS.map(({ name, title, api, where, tried }) => [name, title, api, where, tried]),
  );
