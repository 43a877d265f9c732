// The row of a new account, from the options of `account add` and `init`, or from answers to their questions.
import { type Command, Option } from 'commander';
import { mapping } from '../../config/checks/config-rows.ts';
import type { Plain } from '../../config/file/yaml-render.ts';
import { suggestion } from '../../config/schema/suggestion.ts';
import { PRESETS, type Preset, type PresetName, presetOf } from '../../turn/provider/presets.ts';
import { CommandFailure, collect } from '../command.ts';

export interface AccountOptions {
  readonly preset?: string;
  readonly simulated?: string | true;
  readonly baseUrl?: string;
  readonly env?: string;
  readonly secretFile?: string;
  readonly tokenUrl?: string;
  readonly clientId?: string;
  readonly deviceUrl?: string;
  readonly authorizeUrl?: string;
  readonly scope?: readonly string[];
  readonly identityClaim?: string;
  readonly header?: readonly string[];
  readonly api?: ApiName;
  readonly proxy?: string;
  readonly ca?: string;
}

const APIS = ['chat', 'responses'] as const;
type ApiName = (typeof APIS)[number];

export type NewAccountRow = { readonly [setting: string]: Plain };

/** The options for every kind of account. */
export function addAccountOptions(command: Command): Command {
  command
    .option('--preset <name>', `a known kind of API account: ${Object.keys(PRESETS).join(', ')}`)
    .addOption(new Option('--api <name>', 'what an account without a preset speaks; without it that of an agent backend').choices(APIS))
    .option('--simulated [profile]', 'an account of the bundled simulated provider')
    .option('--env <name>', 'the environment variable that holds its secret')
    .option('--secret-file <path>', 'the file that holds its secret');
  return addLoginOptions(command);
}

/** The options for accounts that log in. */
export function addLoginOptions(command: Command): Command {
  return command
    .option('--base-url <url>', 'its address; without --preset that of an agent backend')
    .option('--token-url <url>', 'token endpoint of an account that logs in, with --client-id')
    .option('--client-id <id>', 'client id of its logins')
    .option('--device-url <url>', 'its device authorization endpoint')
    .option('--authorize-url <url>', 'its authorization endpoint, for logins with a browser')
    .option('--scope <scope>', 'a scope of its logins; repeat for several', collect)
    .option('--identity-claim <claim>', 'the claim that identifies the user of a login; default: sub')
    .option('--header <name=value>', 'a header of its requests, without secrets; repeat for several', collect)
    .option('--proxy <url>', 'the proxy of all its connections: http, https or socks5')
    .option('--ca <path>', 'the file of a private certificate authority that its servers have');
}

/** Whether the options determine the kind of the account. */
export const namesKind = ({ preset, simulated, baseUrl }: AccountOptions): boolean =>
  preset !== undefined || simulated !== undefined || baseUrl !== undefined;

/** @throws {CommandFailure} if the options lack something that such an account needs */
export function rowOf(id: string, options: AccountOptions): NewAccountRow {
  const { preset: name, api, simulated, baseUrl, proxy, ca } = options;
  if (simulated !== undefined) return { id, base_url: `rehearsal:${simulated === true ? '' : simulated}`, keep_fields: ['metadata'] };
  const preset = name === undefined ? undefined : presetOf(presetNamed(name));
  if (baseUrl === undefined && preset?.base_url === undefined) {
    throw usage(
      name === undefined
        ? 'say what account it is: --preset, --base-url or --simulated'
        : `--base-url is missing: every ${name} server has its own address`,
    );
  }
  return {
    id,
    ...(name !== undefined && { preset: name }),
    ...(api !== undefined && { api }),
    ...(baseUrl !== undefined && { base_url: baseUrl, ...(isKeyless(options, preset) && insecure(baseUrl)) }),
    ...credentialOf(id, options, preset),
    ...headersOf(options),
    ...(proxy !== undefined && { proxy: { url: proxy } }),
    ...(ca !== undefined && { tls: { ca } }),
  };
}

/** @throws {CommandFailure} */
export function presetNamed(name: string): PresetName {
  const names = Object.keys(PRESETS);
  if (names.includes(name)) return name as PresetName;
  throw usage(`there is no preset '${name}'${suggestion(name, names) || `; known: ${names.join(', ')}`}`);
}

/** The usual name of the variable for a provider's key. */
export const variableOf = (id: string, preset?: string): string =>
  `${(preset ?? id).toUpperCase().replace(/[^A-Z0-9]/g, '_')}_${preset === undefined ? 'TOKEN' : 'API_KEY'}`;

/** The variable that a row names for its secret, which is not set. */
export interface UnsetVariable {
  readonly name: string;
  readonly account: string;
}

export const unsetVariables = (rows: readonly NewAccountRow[], env: NodeJS.ProcessEnv): readonly UnsetVariable[] =>
  rows.flatMap(({ id, credential }) => {
    const { bearer, header } = mapping(credential);
    const { env: name } = mapping(bearer ?? header);
    return typeof name === 'string' && !env[name]?.trim() ? [{ name, account: String(id) }] : [];
  });

function credentialOf(id: string, options: AccountOptions, preset: Preset | undefined): NewAccountRow {
  const { tokenUrl, clientId, env, secretFile } = options;
  if (tokenUrl !== undefined || clientId !== undefined) return { credential: { oauth: oauthOf(options) } };
  if (isKeyless(options, preset)) return preset ? {} : { credential: 'none' };
  if (env !== undefined && secretFile !== undefined) throw usage('--env and --secret-file exclude each other');
  const secret: { readonly [name: string]: string } =
    secretFile !== undefined ? { file: secretFile } : { env: env ?? variableOf(id, options.preset) };
  if (preset?.credential === 'header') return { credential: { header: { name: 'api-key', ...secret } } };
  return { credential: { bearer: secret } };
}

/** Whether the account needs no secret, like many servers on an operator's own machines. */
const isKeyless = ({ env, secretFile, api }: AccountOptions, preset: Preset | undefined): boolean =>
  env === undefined && secretFile === undefined && (preset ? preset.credential === 'none' : api !== undefined);

function oauthOf({ tokenUrl, clientId, deviceUrl, authorizeUrl, scope, identityClaim }: AccountOptions): NewAccountRow {
  if (tokenUrl === undefined || clientId === undefined) throw usage('--token-url and --client-id belong together');
  return {
    token_url: tokenUrl,
    client_id: clientId,
    ...(deviceUrl !== undefined && { device_url: deviceUrl }),
    ...(authorizeUrl !== undefined && { authorize_url: authorizeUrl }),
    ...(scope && { scopes: scope }),
    ...(identityClaim !== undefined && { identity_claim: identityClaim }),
  };
}

function headersOf({ header = [] }: AccountOptions): NewAccountRow {
  const pairs = header.map((text) => {
    const at = text.indexOf('=');
    if (at < 1) throw usage(`--header ${text}: write NAME=VALUE`);
    return [text.slice(0, at), text.slice(at + 1)] as const;
  });
  return pairs.length === 0 ? {} : { headers: Object.fromEntries(pairs) };
}

/** The setting for plain http to a server in the operator's own network (AA5). */
function insecure(baseUrl: string): NewAccountRow {
  return /^http:\/\/(?!127\.|localhost[:/]|\[::1\])/i.test(baseUrl) ? { insecure_http: true } : {};
}

const usage = (message: string): CommandFailure => new CommandFailure(message, { exitCode: 2 });
