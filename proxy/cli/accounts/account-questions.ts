// Asks a person for the kind of an account, its address, and its secret.
import { PRESETS, presetOf } from '../../turn/provider/presets.ts';
import { CommandFailure, type Io } from '../command.ts';
import { type AccountOptions, type NewAccountRow, presetNamed, rowOf, variableOf } from './new-account.ts';
import { secretPath, type TypedSecret } from './typed-secrets.ts';

export interface AskedAccount {
  readonly row: NewAccountRow;
  readonly secrets: readonly TypedSecret[];
}

const KINDS = [
  ['simulated', 'simulated accounts, to try poolgate'],
  ['login', 'an agent backend, with a login'],
  ['token', 'an agent backend, with a token'],
  ...Object.keys(PRESETS).map((name) => [name, `the ${name} API`] as const),
] as const;

/** @throws {CommandFailure} if there is no terminal */
export async function askedKind(io: Io): Promise<string> {
  if (!io.input.isTerminal) {
    throw new CommandFailure('there is no terminal for questions: say what account it is with --preset, --base-url or --simulated', {
      exitCode: 2,
    });
  }
  io.err(
    `What account do you have?\n${KINDS.map(([name, text], at) => `  ${String(at + 1).padStart(2)}  ${name.padEnd(10)}  ${text}`).join('\n')}\n`,
  );
  for (;;) {
    const answer = (await answerTo('Number or name [simulated]: ', io)) || 'simulated';
    const kind = KINDS.find(([name], at) => name === answer || String(at + 1) === answer);
    if (kind) return kind[0];
    io.err(`'${answer}' is none of them.\n`);
  }
}

export async function askedAccount(id: string, io: Io, kind?: string): Promise<AskedAccount> {
  const chosen = kind ?? (await askedKind(io));
  if (chosen === 'simulated') return { row: rowOf(id, { simulated: true }), secrets: [] };
  if (chosen === 'login') return { row: rowOf(id, await askedLogin(io)), secrets: [] };
  const preset = chosen === 'token' ? undefined : presetOf(presetNamed(chosen));
  const baseUrl = preset?.base_url === undefined ? await neededAddress('Its address, such as https://provider.example: ', io) : undefined;
  const options = { ...(preset && { preset: chosen }), ...(baseUrl !== undefined && { baseUrl }) };
  if (preset?.credential === 'none') return { row: rowOf(id, options), secrets: [] };
  return withSecret(id, options, io);
}

async function withSecret(id: string, options: AccountOptions, io: Io): Promise<AskedAccount> {
  const variable = variableOf(id, options.preset);
  const secret = await answerTo(`Its key, which goes into a file that only you can read (empty: it is in ${variable}): `, io, {
    hidden: true,
  });
  if (secret === '') return { row: rowOf(id, { ...options, env: variable }), secrets: [] };
  const path = secretPath(id);
  return { row: rowOf(id, { ...options, secretFile: path }), secrets: [{ path, secret }] };
}

async function askedLogin(io: Io): Promise<AccountOptions> {
  const baseUrl = await neededAddress('Its address, such as https://provider.example: ', io);
  const tokenUrl = await neededAddress('Token endpoint (token_url): ', io);
  const clientId = await needed('Client id (client_id): ', io);
  const deviceUrl = await addressOr('Device authorization endpoint, for a code in any browser (device_url; empty: none): ', io);
  const authorizeUrl = await addressOr('Authorization endpoint, for a browser of this machine (authorize_url; empty: none): ', io);
  const scopes = (await answerTo('Scopes, divided by spaces (empty: none): ', io)).split(/\s+/).filter((scope) => scope !== '');
  return {
    baseUrl,
    tokenUrl,
    clientId,
    ...(deviceUrl !== '' && { deviceUrl }),
    ...(authorizeUrl !== '' && { authorizeUrl }),
    ...(scopes.length > 0 && { scope: scopes }),
  };
}

/** Asks for an address, again if the answer is not one. @returns an empty text if there is no address */
async function addressOr(question: string, io: Io): Promise<string> {
  for (;;) {
    const answer = await answerTo(question, io);
    if (answer === '' || /^(?:https?:\/\/.|rehearsal:)/.test(answer)) return answer;
    io.err(`'${answer}' is no address: it begins with https://, or with http:// on this machine.\n`);
  }
}

async function neededAddress(question: string, io: Io): Promise<string> {
  for (;;) {
    const answer = await addressOr(question, io);
    if (answer !== '') return answer;
  }
}

async function needed(question: string, io: Io): Promise<string> {
  for (;;) {
    const answer = await answerTo(question, io);
    if (answer !== '') return answer;
  }
}

/** @throws {CommandFailure} at the end of the input */
export async function answerTo(question: string, io: Io, options: { readonly hidden?: boolean } = {}): Promise<string> {
  const answer = await io.input.line(question, options);
  if (answer === undefined) throw new CommandFailure('the questions were not answered: nothing changed');
  return answer.trim();
}
