// The results of an account's test in lines for operators, with the first fault and what to change (AA87).
import type { AccountTestPlan, AccountTestStep } from '../../admin/replies/account-test-report.ts';
import type { Diagnosis } from '../../doctor/diagnosis.ts';
import { READ_FAILURES } from '../../doctor/gateway-checks.ts';
import { pathAdvice } from '../../doctor/model-list-checks.ts';
import { isApiAccount } from '../../turn/provider/api-account.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import { credentialAdvice } from '../../upstream/credentials/credential-advice.ts';

export function costText({ account, model, over, at_most_usd: usd }: AccountTestPlan): string {
  const cost = usd === null ? 'at a price that is not known' : usd === 0 ? 'for nothing' : `for at most ${usd.toFixed(6)} USD`;
  return `account '${account}' is sent a turn of ${model} over ${over.join(' and ')}, ${cost}`;
}

export const diagnosisText = ({ level, check, message, advice }: Diagnosis): string =>
  `${level.padEnd(8)}${check}: ${message}${advice === undefined ? '' : `\n        -> ${advice}`}`;

export function stepText(step: AccountTestStep): readonly string[] {
  const { ok, ms, first_event_ms, found, failure, usage, adapted, quirks } = step;
  const first = first_event_ms === null ? '' : `, the first event after ${Math.ceil(first_event_ms)} ms`;
  const lines = [
    `${(ok ? 'ok' : 'problem').padEnd(8)}${nameOf(step)}: ${failure ? failureText(failure) : (found ?? 'no answer')} (${Math.ceil(ms)} ms${first})`,
  ];
  if (usage) {
    const counts = [
      `${usage.input_tokens ?? '?'} input`,
      `${usage.cached_input_tokens ?? 0} of them cached`,
      `${usage.output_tokens ?? '?'} output`,
      `${usage.reasoning_tokens ?? 0} of them reasoning`,
    ];
    lines.push(`        usage: ${counts.join(', ')}${usage.estimated ? '; estimated, because the account states none' : ''}`);
  }
  if (adapted.length > 0) lines.push(`        adapted: ${adapted.join(', ')}`);
  if (quirks.length > 0)
    lines.push('        -> add to the account:', '           quirks:', ...quirks.map((line) => `             ${line}`));
  return lines;
}

const nameOf = ({ step, over }: AccountTestStep): string => `${step.replace('_', ' ')}${over === null ? '' : ` over ${over}`}`;

type TestFailure = NonNullable<AccountTestStep['failure']>;

const statedIn = ({ status, code, param }: TestFailure): string => [status, code, param].filter((one) => one !== null).join(' ');

function failureText(failure: TestFailure): string {
  const stated = statedIn(failure);
  const { class: name, message } = failure;
  // The step `credential` already has the name of its cause.
  const cause = name === 'credential' && message !== null && stated === '' ? '' : `${name}${stated === '' ? '' : ` (${stated})`}: `;
  return message === null ? cause.replace(/: $/, '') : `${cause}${message}`;
}

/** The sentence about an account without a failure. */
export function rightText({ id }: AccountConfig, steps: readonly AccountTestStep[], turn: boolean): string {
  const quirks = [...new Set(steps.flatMap((step) => step.quirks))];
  if (quirks.length > 0) return `account '${id}' works, but its answers are misread: add quirks: { ${quirks.join(', ')} }`;
  return turn ? `account '${id}' works` : `account '${id}' works as far as this goes: no turn was sent`;
}

/** Undefined if nothing is wrong. */
export function firstWrong(
  account: AccountConfig,
  { network, steps }: { readonly network: readonly Diagnosis[]; readonly steps: readonly AccountTestStep[] },
  { isNew = false }: { readonly isNew?: boolean } = {},
): string | undefined {
  const unreached = network.find(({ level }) => level === 'problem');
  if (unreached) return `account '${account.id}' cannot be reached: ${unreached.message} ${unreached.advice ?? ''}`.trimEnd();
  const wrong = steps.find(({ ok }) => !ok);
  if (!wrong) return undefined;
  const [line] = wrong.quirks;
  if (line !== undefined) return `account '${account.id}' refuses what it was sent: add quirks: { ${line} }`;
  const { failure } = wrong;
  if (!failure) return `account '${account.id}' does not work (${nameOf(wrong)}): ${wrong.found ?? 'no answer'}`;
  const stated = statedIn(failure);
  const cause = wrong.step === 'credential' ? (failure.message ?? failure.class) : `${failure.class}${stated === '' ? '' : `, ${stated}`}`;
  return `account '${account.id}' does not work (${nameOf(wrong)}: ${cause}). ${isNew && failure.class === 'credential' ? newCredentialAdvice(account) : adviceOn(account, failure)}`;
}

/** The advice for an account that the gateway does not have yet, so it cannot read anything again. */
const newCredentialAdvice = ({ credential }: AccountConfig): string =>
  credential
    ? 'Correct its secret, or the `headers` that its provider demands.'
    : 'It demands a secret: name its variable with --env, or its file with --secret-file.';

function adviceOn(account: AccountConfig, { class: name, status, message }: TestFailure): string {
  if (name === 'credential') return credentialAdvice(account);
  if (name === 'unset') return `Set ${variableOf(account)} here, as where the gateway starts.`;
  if (name === 'no_model') return `${message ?? 'It has no model'}: name its models in \`catalog\`, or add --no-turn.`;
  if (name === 'status' && status === 404) {
    return isApiAccount(account)
      ? pathAdvice(account)
      : 'Correct base_url, or the words of `wire`: the list of an agent backend is at /backend-api/AGENT/models below base_url.';
  }
  return ADVICE[name] ?? READ_FAILURES[name]?.[1] ?? 'See the first problem above.';
}

function variableOf({ credential }: AccountConfig): string {
  const secret = credential && ('bearer' in credential ? credential.bearer : 'header' in credential ? credential.header : undefined);
  return secret && 'env' in secret ? secret.env : 'its secret';
}

const ADVICE: Readonly<Record<string, string>> = {
  token_url: 'Check token_url of its credential, and the network between this machine and it.',
  no_websocket: 'It takes no websocket there: add `websocket: false` to the account. Turns go to it over HTTP.',
  status: 'Check base_url, `api` and `headers` of the account.',
  quota: 'Its quota is used up, or it is unpaid.',
  rate: 'It limits requests at the moment: wait, and test it again.',
  model: 'It does not serve the model under that name: see `models` and `catalog` of the account.',
  wrong_api: 'base_url may not be that of its API: correct `api` or base_url.',
  connect: 'It accepts no connection: check base_url, its proxy and its certificate.',
  network: 'The connection ended before the answer: check the network, and the proxy of the account.',
  timeout: 'It did not answer in time: see timeouts.upstream_first_byte_ms, and first_byte_ms of the account.',
  server: 'The server failed: read its log, or wait, and test it again.',
  malformed: 'Its answers are not those of its API: check `api` and base_url.',
};
