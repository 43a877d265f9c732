// `account test`: reaches an account as the gateway would, and sends it one short turn over each of its carriers (AA87).
import type { Command } from 'commander';
import type { AccountTestOrder, AccountTestPlan, AccountTestReply, AccountTestStep } from '../../admin/account-test-report.ts';
import type { LoadedConfig } from '../../config/config.ts';
import { inspect, readConfig } from '../../config/loading/load.ts';
import { ConfigError, isError } from '../../config/schema/finding.ts';
import type { Diagnosis } from '../../doctor/diagnosis.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import { fetchTestPlan, requestTest, Unreachable } from '../admin-client.ts';
import { addCommand, CommandFailure, type CommonOptions, type Io, indexOfId, json } from '../command.ts';
import { checkText } from './account-check-text.ts';

interface TestOptions extends CommonOptions {
  readonly model?: string;
  readonly tools?: boolean;
  readonly turn: boolean;
}

export function addAccountTest(account: Command, io: Io): void {
  addCommand(account, {
    usage: 'test <id>',
    description:
      'find out what is wrong with an account, and what to change: names, TLS, credential, models, and one turn of at most 16 output tokens ' +
      'over each of its carriers; exit code 1 if something failed. It changes no health, limit or file',
    examples: [
      'poolgate account test box',
      'poolgate account test platform --model model-a --tools',
      'poolgate account test north --no-turn',
    ],
  })
    .option('--model <exposed>', 'the model of the turn; default: the first one of the account')
    .option('--tools', 'force a call of a tool, and send its result after it')
    .option('--no-turn', 'send no turn')
    .action((id: string, options: TestOptions) => testAccount(id, options, io));
}

type Loaded = Pick<LoadedConfig, 'config' | 'bearers' | 'connections' | 'environment'>;

async function testAccount(
  id: string,
  { config: path, json: asJson = false, model, tools = false, turn }: TestOptions,
  io: Io,
): Promise<void> {
  if (!turn && (tools || model !== undefined)) throw new CommandFailure('--no-turn excludes --model and --tools', { exitCode: 2 });
  const { config, findings, ...ways } = await inspect(await readConfig(path), { path, env: io.env, strictEnv: false });
  if (!config) throw new ConfigError(findings.filter(isError));
  const account = config.accounts[indexOfId(config.accounts, id, 'account')] as AccountConfig;
  const loaded: Loaded = { config, ...ways };
  const order: AccountTestOrder = { model, tools, turn };
  const plan = await planOf(loaded, id, order);
  const say = (text: string): void => {
    if (!asJson) io.out(`${text}\n`);
  };
  if (plan?.model) say(costText(plan));
  // The other commands start without loading the checks.
  const { networkDiagnoses } = await import('../../doctor/network-checks.ts');
  const network = await networkDiagnoses({ accounts: [account], timeouts: config.timeouts }, loaded);
  for (const one of network) say(diagnosisText(one));
  const isReached = network.every(({ level }) => level !== 'problem');
  if (!plan) {
    const { text, ok } = await withoutGateway(account, loaded);
    const unsent = turn ? ['its turn is not sent: start the gateway (poolgate serve), then run the command again'] : [];
    if (asJson) io.out(json({ ok: ok && isReached && !turn, plan: null, network, steps: [], found: [text, ...unsent] }));
    else say([text, ...unsent].join('\n'));
    if (!ok || !isReached || turn) throw new CommandFailure('');
    return;
  }
  const { steps, ok: passed } = await requestTest(config, id, order);
  const ok = passed && isReached;
  if (asJson) io.out(json({ ok, plan, network, steps }));
  else say([...steps.flatMap(stepText), verdictText(id, steps, isReached)].join('\n'));
  if (!ok) throw new CommandFailure('');
}

/** Undefined where no gateway runs. */
async function planOf({ config }: Loaded, id: string, order: AccountTestOrder): Promise<AccountTestPlan | undefined> {
  try {
    return await fetchTestPlan(config, id, order);
  } catch (thrown) {
    if (thrown instanceof Unreachable) return undefined;
    throw thrown;
  }
}

/** The list of models, read with the credential of the file. */
async function withoutGateway(account: AccountConfig, loaded: Loaded): Promise<{ readonly text: string; readonly ok: boolean }> {
  const { checkAccount } = await import('../../gateway/account-check.ts');
  const check = await checkAccount(account, loaded);
  return { text: `no gateway runs: ${checkText(account.id, check)}`, ok: check === undefined || 'models' in check };
}

function costText({ account, model, over, at_most_usd: usd }: AccountTestPlan): string {
  const cost = usd === null ? 'at a price that is not known' : usd === 0 ? 'for nothing' : `for at most ${usd.toFixed(6)} USD`;
  return `account '${account}' is sent a turn of ${model} over ${over.join(' and ')}, ${cost}`;
}

const diagnosisText = ({ level, check, message, advice }: Diagnosis): string =>
  `${level.padEnd(8)}${check}: ${message}${advice === undefined ? '' : `\n        -> ${advice}`}`;

function stepText({ step, over, ok, ms, first_event_ms, found, failure, usage, adapted, quirks }: AccountTestStep): readonly string[] {
  const name = `${step.replace('_', ' ')}${over === null ? '' : ` over ${over}`}`;
  const first = first_event_ms === null ? '' : `, the first event after ${Math.ceil(first_event_ms)} ms`;
  const lines = [
    `${(ok ? 'ok' : 'problem').padEnd(8)}${name}: ${failure ? failureText(failure) : (found ?? 'no answer')} (${Math.ceil(ms)} ms${first})`,
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

function failureText({ class: name, status, code, param, message }: NonNullable<AccountTestStep['failure']>): string {
  const stated = [status, code, param].filter((one) => one !== null).join(' ');
  return `${name}${stated === '' ? '' : ` (${stated})`}${message === null ? '' : `: ${message}`}`;
}

/** The first thing that is wrong. */
function verdictText(id: string, steps: AccountTestReply['steps'], isReached: boolean): string {
  if (!isReached) return `account '${id}' cannot be reached; see above`;
  const wrong = steps.find(({ ok }) => !ok);
  if (!wrong) return `account '${id}' works`;
  const [line] = wrong.quirks;
  if (line !== undefined) return `account '${id}' refuses what it was sent: add quirks: { ${line} }`;
  return `account '${id}' does not work: ${ADVICE[wrong.failure?.class ?? ''] ?? 'see the first problem above'}`;
}

const ADVICE: Readonly<Record<string, string>> = {
  credential: 'correct its credential, or log it in again',
  quota: 'its quota is used up, or it is unpaid',
  rate: 'it limits requests at the moment; wait, and test it again',
  model: 'it does not serve the model under that name; see `models` and `catalog` of the account',
  wrong_api: 'base_url may not be that of its API',
  connect: 'it accepts no connection; check base_url',
  network: 'the connection ended before the answer',
  timeout: 'it did not answer in time; see first_byte_ms',
  server: 'the server failed',
  malformed: 'its answers are not those of its API; check `api` and base_url',
};
