// The text that `init` prints: the key, and the next steps up to a first turn.
import { type ClientSettings, KEY_VARIABLE } from '../../pages/client-settings.ts';
import type { NewAccountRow, UnsetVariable } from '../accounts/new-account.ts';
import { counted } from '../command.ts';
import { POOL } from './init-file.ts';

export interface Started {
  readonly path: string;
  readonly port: number;
  readonly rows: readonly NewAccountRow[];
  readonly key: string;
  readonly secret: string;
  readonly client: ClientSettings | undefined;
  /** The accounts that need a login. */
  readonly logins: readonly string[];
  readonly unset: readonly UnsetVariable[];
  /** Warnings about the file. */
  readonly notes: readonly string[];
}

/** @param codex the agent word in native paths of a file for the client Codex */
export function startText({ path, port, rows, key, secret, client, logins, unset, notes }: Started, codex: string): string {
  const isSimulated = rows.every(({ base_url }) => String(base_url).startsWith('rehearsal:'));
  const model = isSimulated ? 'model-a' : 'MODEL';
  const origin = `http://127.0.0.1:${port}`;
  const option = path === 'config.yaml' ? '' : ` --config ${path}`;
  const steps = [
    ...unset.map(({ name, account }) => `export ${name}=…      # the secret of account ${account}, in the terminal that serves`),
    ...logins.map((id) => `npx poolgate account login ${id}${option}`),
    `npx poolgate serve${option}`,
    ...(isSimulated
      ? []
      : [`npx poolgate account test ${rows[0]?.id}${option}      # in another terminal: reaches it, and sends it a short turn`]),
  ];
  const turn = client
    ? client.text({ origin, agent: client.name === 'codex' ? codex : 'agent', model })
    : `curl ${origin}/v1/responses -H "Authorization: Bearer $${KEY_VARIABLE}" -H 'Content-Type: application/json' \\\n  -d '{ "model": "${model}", "input": "Say hello." }'`;
  return [
    `${path} was written: ${counted(rows.length, 'account')} (${rows.map(({ id }) => id).join(', ')}), Pool ${POOL}, key ${key}.`,
    ...notes,
    '',
    `The secret of key '${key}', which is shown only once; the file has its hash:`,
    '',
    `  export ${KEY_VARIABLE}=${secret}`,
    '',
    'Next:',
    '',
    ...steps.map((step) => `  ${step}`),
    '',
    client ? `${client.title} (${client.where}):` : 'A turn:',
    '',
    ...turn.split('\n').map((line) => (line === '' ? '' : `  ${line}`)),
    ...(client?.note === undefined ? [] : ['', client.note]),
    ...(model === 'MODEL' ? ['', `MODEL is one of: curl ${origin}/v1/models -H "Authorization: Bearer $${KEY_VARIABLE}"`] : []),
    '',
  ].join('\n');
}
