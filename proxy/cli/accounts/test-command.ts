// `account test`: reaches an account as the gateway would, and sends one short turn over each of its carriers (AA87).
import type { Command } from 'commander';
import type { AccountTestOrder, AccountTestPlan, AccountTestStep } from '../../admin/replies/account-test-report.ts';
import { indexIn } from '../../config/file/edits/invalid-edit.ts';
import { inspect, readConfig } from '../../config/loading/load.ts';
import { ConfigError, isError } from '../../config/schema/finding.ts';
import type { Diagnosis } from '../../doctor/diagnosis.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import { addCommand, CommandFailure, type CommonOptions, type Io, json } from '../command.ts';
import { fetchTestPlan, requestTest } from '../gateway/account-calls.ts';
import { type AdminAddress, adminOf } from '../gateway/address.ts';
import { Unreachable } from '../gateway/ask.ts';
import { accountChecks, type CheckedConfig, networkChecks } from './account-checks.ts';
import { costText, diagnosisText, firstWrong, rightText, stepText } from './account-test-text.ts';

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

async function testAccount(
  id: string,
  { config: path, json: asJson = false, model, tools = false, turn }: TestOptions,
  io: Io,
): Promise<void> {
  if (!turn && (tools || model !== undefined)) throw new CommandFailure('--no-turn excludes --model and --tools', { exitCode: 2 });
  const { config, findings, ...ways } = await inspect(await readConfig(path), { path, env: io.env, strictEnv: false });
  if (!config) throw new ConfigError(findings.filter(isError));
  const account = config.accounts[indexIn(config.accounts, id, 'account')] as AccountConfig;
  const loaded: CheckedConfig = { config, ...ways };
  const say = (...texts: readonly string[]): void => {
    if (!asJson) for (const text of texts) io.out(`${text}\n`);
  };
  const order: AccountTestOrder = { model, tools, turn };
  const gateway = adminOf(config, io, path);
  const plan = await planOf(gateway, id, order);
  if (plan?.model) say(costText(plan));
  const { network, steps } = plan ? await byGateway(account, loaded, { gateway, order, say }) : await byItself(account, loaded, say);
  // A turn, a login and a simulated account need a running gateway.
  const untested = plan || (!turn && steps.length > 0) ? undefined : NO_GATEWAY;
  const wrong = firstWrong(account, { network, steps }) ?? untested;
  const verdict = wrong ?? rightText(account, steps, turn);
  if (asJson) io.out(json({ ok: wrong === undefined, plan: plan ?? null, network, steps, verdict }));
  else say(verdict);
  if (wrong !== undefined) throw new CommandFailure('');
}

const NO_GATEWAY = 'no gateway runs, and the rest is not tested: start it (poolgate serve), then run the command again';

type Say = (...texts: readonly string[]) => void;

interface Found {
  readonly network: readonly Diagnosis[];
  readonly steps: readonly AccountTestStep[];
}

async function byGateway(
  account: AccountConfig,
  loaded: CheckedConfig,
  { gateway, order, say }: { readonly gateway: AdminAddress; readonly order: AccountTestOrder; readonly say: Say },
): Promise<Found> {
  const network = await networkChecks(account, loaded);
  say(...network.map(diagnosisText));
  const { steps } = await requestTest(gateway, account.id, order);
  say(...steps.flatMap(stepText));
  return { network, steps };
}

async function byItself(account: AccountConfig, loaded: CheckedConfig, say: Say): Promise<Found> {
  const { network, steps } = await accountChecks(account, loaded);
  say(...network.map(diagnosisText), ...steps.flatMap(stepText));
  return { network, steps };
}

/** Undefined if no gateway is running. */
async function planOf(gateway: AdminAddress, id: string, order: AccountTestOrder): Promise<AccountTestPlan | undefined> {
  try {
    return await fetchTestPlan(gateway, id, order);
  } catch (thrown) {
    if (thrown instanceof Unreachable) return undefined;
    throw thrown;
  }
}
