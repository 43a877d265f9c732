// The turns of a test over one carrier, and the quirks that their answers call for. After a forced call of a tool, a second turn sends the
// result (AA87).
import type { AccountTestFailure, AccountTestStep, TestedCarrier } from '../../admin/replies/account-test-report.ts';
import type { ProviderError } from '../../turn/errors/error-statement.ts';
import type { Failure } from '../../turn/errors/failure.ts';
import { publicError } from '../../turn/errors/sanitise.ts';
import { asList, isObject, type JsonObject } from '../../turn/json/json.ts';
import { type ApiAccountConfig, isApiAccount } from '../../turn/provider/api-account.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import type { Body } from '../../turn/turn.ts';
import { lacksWebsocket } from '../../upstream/websocket-support.ts';
import { quirkLines } from './quirk-lines.ts';
import { plainBody, resultBody, toolBody } from './test-bodies.ts';
import { testedEnd, testedUsage, testStep } from './test-step.ts';
import { sendTestTurn, type TestedTurn, type TestSubject } from './test-turn.ts';

/** @param over the carrier of the turns */
export async function turnSteps(subject: TestSubject, over: TestedCarrier, tools: boolean): Promise<readonly AccountTestStep[]> {
  const { id } = subject.model;
  if (!tools) return [(await turnStep(subject, plainBody(id), { step: 'turn', over })).step];
  const forced = await turnStep(subject, toolBody(id, { forced: true }), { step: 'turn', over });
  const first =
    forced.tested.lack === 'tool_choice' ? await turnStep(subject, toolBody(id, { forced: false }), { step: 'turn', over }) : forced;
  const output = first.tested.client.items.map(withoutId);
  if (!first.step.ok || !output.some(({ type }) => type === 'function_call')) return [first.step];
  const second = await turnStep(subject, resultBody(id, output), { step: 'tool_result', over });
  return [first.step, second.step];
}

interface NamedTurn {
  readonly step: 'turn' | 'tool_result';
  readonly over: TestedCarrier;
}

interface Sent {
  readonly step: AccountTestStep;
  readonly tested: TestedTurn;
}

async function turnStep(subject: TestSubject, body: Body, { step: name, over }: NamedTurn): Promise<Sent> {
  const tested = await sendTestTurn(subject, body, over);
  const { failure, lack, client } = tested;
  const stated = tested.stated ?? failure?.error;
  const hasTools = body.tools !== undefined;
  const step = testStep({
    step: name,
    over,
    ok: !failure && !lack,
    ms: tested.ms,
    first_event_ms: tested.firstEventMs ?? null,
    found: lack
      ? `not sent: its settings exclude such turns (${lack})`
      : testedEnd(client.response, client.items, hasTools && name === 'turn'),
    failure: failure ? stepFailure(subject, { body, over, failure, stated: stated ?? failure.error }) : null,
    usage: testedUsage(client.response),
    adapted: tested.adapted,
    quirks: quirksOf(subject.account, tested, hasTools),
  });
  return { step, tested };
}

function quirksOf(account: AccountConfig, { failure, stated, client }: TestedTurn, hasTools: boolean): readonly string[] {
  if (!isApiAccount(account)) return [];
  if (!failure) return answerQuirks(client.response, client.items, account);
  return quirkLines(stated ?? failure.error, account, hasTools);
}

interface FailedTurn {
  readonly body: Body;
  readonly over: TestedCarrier;
  readonly failure: Failure;
  readonly stated: ProviderError;
}

function stepFailure({ account, generation, services }: TestSubject, { body, over, failure, stated }: FailedTurn): AccountTestFailure {
  const secret = services.credentials.secretOf(account, generation.loaded.bearers.get(account.id));
  const known = { secrets: () => (secret === undefined ? [] : [secret]), prompt: () => JSON.stringify(body.input) };
  const { code, message, param } = publicError(stated, known);
  const isFrame = over === 'websocket' && services.providerOf(account).requests.frames !== undefined;
  return {
    class: isFrame && lacksWebsocket(failure.status) ? 'no_websocket' : (failure.sign ?? failure.cause),
    status: failure.status ?? null,
    code: code ?? null,
    param: param ?? null,
    message: stated.message !== null ? message.slice(0, 500) : null,
  };
}

/** An item of an answer in the form in which a client without stored responses sends it back. */
const withoutId = ({ id: _, ...item }: JsonObject): JsonObject => item;

/** Returns lines for `quirks` in the file. @param items the items of the answer */
function answerQuirks(
  response: JsonObject | undefined,
  items: readonly JsonObject[],
  { api, quirks }: Pick<ApiAccountConfig, 'api' | 'quirks'>,
): readonly string[] {
  if (api !== 'chat') return [];
  return [
    ...(!quirks.think_tags && items.some(beginsWithTag) ? ['think_tags: true'] : []),
    ...(!quirks.usage_excludes_reasoning && reasonsBeyondOutput(response) ? ['usage_excludes_reasoning: true'] : []),
  ];
}

/** Whether the text begins with reasoning, as with a server that does not separate it. */
function beginsWithTag({ type, content }: JsonObject): boolean {
  if (type !== 'message') return false;
  const [part] = asList(content);
  return isObject(part) && typeof part.text === 'string' && /^\s*<think>/.test(part.text);
}

/** Whether the reasoning exceeds the output. Reasoning is a part of the output, unless the server counts it separately. */
function reasonsBeyondOutput(response: JsonObject | undefined): boolean {
  const usage = testedUsage(response);
  const total = isObject(response?.usage) ? response.usage.total_tokens : undefined;
  const { input_tokens: input, output_tokens: output, reasoning_tokens: reasoning } = usage ?? NO_USAGE;
  if (reasoning === null || output === null || reasoning === 0) return false;
  return reasoning > output || total === (input ?? 0) + output + reasoning;
}

const NO_USAGE = { input_tokens: null, output_tokens: null, reasoning_tokens: null } as const;
