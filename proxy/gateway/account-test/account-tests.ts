// The gateway's part of `account test`: its credential, its list of models, and one short turn over each carrier (AA87).
import type {
  AccountTester,
  AccountTestFailure,
  AccountTestOrder,
  AccountTestPlan,
  AccountTestReply,
  AccountTestStep,
  AccountTestUsage,
  Carrier,
} from '../../admin/account-test-report.ts';
import { LATE, withDeadline } from '../../base/time/clock.ts';
import { parseCatalog } from '../../models/catalog/catalog-parser.ts';
import type { Generation } from '../../server/generation.ts';
import type { ProviderError } from '../../turn/errors/error-statement.ts';
import type { Failure } from '../../turn/errors/failure.ts';
import { publicError } from '../../turn/errors/sanitise.ts';
import { isObject, type JsonObject } from '../../turn/json/json.ts';
import { priceAt } from '../../turn/prices.ts';
import { isApiAccount } from '../../turn/provider/api-account.ts';
import type { AccountConfig, PoolConfig } from '../../turn/settings.ts';
import { inputTokens } from '../../turn/token-estimate.ts';
import type { Body, ModelView } from '../../turn/turn.ts';
import { type AccountHeaders, CredentialUnavailable } from '../../upstream/account-credentials.ts';
import { call } from '../../upstream/call.ts';
import { turnHost } from '../handlers.ts';
import type { Services } from '../services.ts';
import { quirkLines } from './quirk-lines.ts';
import { OUTPUT_TOKENS, plainBody, resultBody, toolBody } from './test-bodies.ts';
import { kindFor, sendTestTurn, type TestedTurn, type TestSubject } from './test-turn.ts';

const LIST_BOUNDS = { bytes: 16_777_216, ms: 30_000 };

const STEP = {
  over: null,
  ok: true,
  ms: 0,
  first_event_ms: null,
  found: null,
  failure: null,
  usage: null,
  adapted: [],
  quirks: [],
} satisfies Partial<AccountTestStep>;

interface Chosen {
  readonly pool: PoolConfig;
  readonly model: ModelView;
}

export class AccountTests implements AccountTester {
  readonly #services: Services;
  readonly #generation: () => Generation;

  constructor(services: Services, generation: () => Generation) {
    this.#services = services;
    this.#generation = generation;
  }

  plan(id: string, order: AccountTestOrder): AccountTestPlan | string | undefined {
    const account = this.#generation().accounts.get(id);
    if (!account) return undefined;
    const known = { account: id, api: account.api, preset: (isApiAccount(account) && account.preset) || null };
    if (!order.turn) return { ...known, model: null, over: [], at_most_usd: null };
    const chosen = this.#choose(account, order);
    if (typeof chosen === 'string') return chosen;
    const { pool, model } = chosen;
    const over = this.#carriersOf(account);
    const prices = priceAt(account, model.id, pool);
    const tokens = mostTokens(model.id, order);
    const usd = prices && (over.length * (tokens.input * prices.input + tokens.output * prices.output)) / 1_000_000;
    return { ...known, model: model.id, over, at_most_usd: usd ?? null };
  }

  async run(plan: AccountTestPlan, order: AccountTestOrder): Promise<AccountTestReply> {
    const generation = this.#generation();
    const account = generation.accounts.get(plan.account);
    const steps: AccountTestStep[] = [];
    if (account) {
      const headers = await this.#credential(account, steps);
      if (headers) {
        await this.#models(account, headers, steps);
        if (order.turn) await this.#turns({ account, headers, generation }, plan, order, steps);
      }
    }
    return { plan, steps, ok: steps.every(({ ok }) => ok) };
  }

  /** The model that is asked for, or the first one for turns; in the first Pool that has the account. */
  #choose(account: AccountConfig, { model: asked }: AccountTestOrder): Chosen | string {
    const { models } = this.#services;
    const pools = [...this.#generation().pools.values()].filter(({ assignments }) =>
      assignments.some((assignment) => assignment.account === account.id),
    );
    if (pools.length === 0) return `account '${account.id}' is in no Pool: assign it to one, or add --no-turn`;
    for (const pool of pools) {
      const known = models.models(pool);
      for (const model of known.all()) {
        const source = model.sources.find((one) => one.account === account.id);
        const view = known.get(model.id)?.view;
        if (!source || !view || (asked === undefined ? source.entry.own?.kind === 'embedding' : model.id !== asked)) continue;
        const effective = source.entry.fields.use_responses_lite === true ? 'lite' : 'full';
        return { pool, model: { ...view, mode: view.mode ?? { configured: 'auto', effective, source: 'catalog' } } };
      }
    }
    if (asked !== undefined) return `account '${account.id}' has no model '${asked}'`;
    return `no model of account '${account.id}' is known: its list could not be read, and it declares none; add --no-turn to see why`;
  }

  #carriersOf(account: AccountConfig): readonly Carrier[] {
    const hasFrames = account.websocket && this.#services.providerOf(account).requests.frames !== undefined;
    return hasFrames ? ['http', 'websocket'] : ['http'];
  }

  async #credential(account: AccountConfig, steps: AccountTestStep[]): Promise<AccountHeaders | undefined> {
    const { clock, credentials } = this.#services;
    const began = clock.now();
    try {
      const headers = await credentials.headersFor(account, this.#generation().loaded);
      const found = account.credential ? 'it can be read' : 'none is configured';
      steps.push({ ...STEP, step: 'credential', ms: clock.now() - began, found });
      return headers;
    } catch (thrown) {
      if (!(thrown instanceof CredentialUnavailable)) throw thrown;
      const failure = { class: 'credential', status: null, code: null, param: null, message: UNAVAILABLE[thrown.why] };
      steps.push({ ...STEP, step: 'credential', ok: false, ms: clock.now() - began, failure });
      return undefined;
    }
  }

  async #models(account: AccountConfig, own: AccountHeaders, steps: AccountTestStep[]): Promise<void> {
    if (isApiAccount(account) && account.read_models === false) return;
    const { clock, providerOf, upstreams } = this.#services;
    const upstream = upstreams.of(account.id);
    if (!upstream) return;
    const { config } = this.#generation();
    const began = clock.now();
    const headers = { accept: 'application/json', 'accept-encoding': 'identity', ...own };
    const reading = providerOf(account).catalog.read(
      (path, from = 'base') => call(upstream.carrier, { method: 'GET', path, from, headers, body: null }, LIST_BOUNDS),
      { account, wire: config.wire },
    );
    upstream.lease();
    const answer = await withDeadline(
      reading.catch(() => undefined),
      clock,
      LIST_BOUNDS.ms,
    ).finally(() => upstream.release());
    const ms = clock.now() - began;
    const failed = (failure: Pick<AccountTestFailure, 'class' | 'status' | 'message'>): void =>
      void steps.push({ ...STEP, step: 'models', ok: false, ms, failure: { code: null, param: null, ...failure } });
    if (answer === LATE || !answer) return failed({ class: answer ? 'timeout' : 'network', status: null, message: 'no list was answered' });
    const { status, body, refusal = 'status' } = answer;
    if (status < 200 || status > 299) {
      const isRefused = status === 401 || status === 403;
      return failed({
        class: isRefused ? 'credential' : refusal,
        status,
        message: isRefused ? 'the credential is refused' : 'no list there',
      });
    }
    const parsed = parseCatalog(body);
    if (!parsed) return failed({ class: 'malformed', status, message: 'the answer is no list of models' });
    steps.push({ ...STEP, step: 'models', ms, found: `${parsed.entries.length} models` });
  }

  async #turns(
    { account, headers, generation }: Pick<TestSubject, 'account' | 'generation' | 'headers'>,
    { over }: AccountTestPlan,
    order: AccountTestOrder,
    steps: AccountTestStep[],
  ): Promise<void> {
    const chosen = this.#choose(account, order);
    const route = generation.routes.all.find(({ kind, method }) => kind === kindFor(account) && method === 'POST');
    if (typeof chosen === 'string' || !route) return;
    const { pool, model } = chosen;
    const { clock, tokens, capsules, models } = this.#services;
    // The state of the account decides nothing: that it fails is what a test finds out about.
    const services = {
      clock,
      tokens,
      capsules,
      models: { find: () => model, presence: () => 'routable' as const, serves: () => true },
      files: { find: () => undefined },
      capacity: { recoversIn: () => undefined },
    };
    const subject: TestSubject = {
      services: this.#services,
      host: { ...turnHost(this.#services), services },
      generation,
      route,
      account,
      pool,
      model,
      known: models.accountModel(account, model.id),
      headers,
    };
    for (const carrier of over) {
      const first = await this.#turn(subject, order.tools ? toolBody(model.id, true) : plainBody(model.id), {
        step: 'turn',
        over: carrier,
      });
      let sent = first;
      if (order.tools && first.tested.lack === 'tool_choice') {
        sent = await this.#turn(subject, toolBody(model.id, false), { step: 'turn', over: carrier });
      }
      steps.push(sent.step);
      const { items } = sent.tested.client;
      const output = items.map(withoutId);
      if (!order.tools || !sent.step.ok || !output.some(({ type }) => type === 'function_call')) continue;
      const second = await this.#turn(subject, resultBody(model.id, output), { step: 'tool_result', over: carrier });
      steps.push(second.step);
    }
  }

  async #turn(
    subject: TestSubject,
    body: Body,
    name: Pick<AccountTestStep, 'step' | 'over'>,
  ): Promise<{ readonly step: AccountTestStep; readonly tested: TestedTurn }> {
    const tested = await sendTestTurn(subject, body, name.over ?? 'http');
    const { failure, lack, client } = tested;
    const stated = tested.stated ?? failure?.error;
    const hasTools = body.tools !== undefined;
    const step: AccountTestStep = {
      ...STEP,
      ...name,
      ok: !failure && !lack,
      ms: tested.ms,
      first_event_ms: tested.firstEventMs ?? null,
      found: lack
        ? `not sent: its settings exclude such turns (${lack})`
        : endOf(client.response, client.items, hasTools && name.step === 'turn'),
      failure: failure ? this.#failureOf(subject, body, failure, stated ?? failure.error) : null,
      usage: usageOf(client.response),
      adapted: tested.adapted,
      quirks: failure && stated && isApiAccount(subject.account) ? quirkLines(stated, subject.account.quirks, hasTools) : [],
    };
    return { step, tested };
  }

  #failureOf({ account, generation }: TestSubject, body: Body, failure: Failure, stated: ProviderError): AccountTestFailure {
    const secret = this.#services.credentials.secretOf(account.id, generation.loaded);
    const known = { secrets: () => (secret === undefined ? [] : [secret]), prompt: () => JSON.stringify(body.input) };
    const { code, message, param } = publicError(stated, known);
    return {
      class: failure.sign ?? failure.cause,
      status: failure.status ?? null,
      code: code ?? null,
      param: param ?? null,
      message: stated.message !== null ? message.slice(0, 500) : null,
    };
  }
}

const UNAVAILABLE = {
  refused: 'the provider refuses its login: log it in again',
  failed: 'its token endpoint does not answer',
  challenged: "a network's guard answers in the place of its token endpoint",
} satisfies Record<CredentialUnavailable['why'], string>;

/** Tokens of one carrier's turns. */
function mostTokens(model: string, { tools }: AccountTestOrder): { readonly input: number; readonly output: number } {
  if (!tools) return { input: inputTokens(plainBody(model)), output: OUTPUT_TOKENS };
  const first = inputTokens(toolBody(model, true));
  return { input: first + inputTokens(resultBody(model, [])) + OUTPUT_TOKENS, output: 2 * OUTPUT_TOKENS };
}

/** An item of an answer as a client without stored responses sends it back. */
function withoutId({ id: _, ...item }: JsonObject): JsonObject {
  return item;
}

function endOf(response: JsonObject | undefined, items: readonly JsonObject[], wantsCall: boolean): string | null {
  if (!response) return null;
  const status = typeof response.status === 'string' ? response.status : 'answered';
  const reason = isObject(response.incomplete_details) ? ` (${String(response.incomplete_details.reason)})` : '';
  const call = wantsCall && !items.some(({ type }) => type === 'function_call') ? ', without a call' : '';
  return `${status}${reason}${call}`;
}

function usageOf(response: JsonObject | undefined): AccountTestUsage | null {
  const usage = response?.usage;
  if (!isObject(usage)) return null;
  const count = (value: unknown): number | null => (typeof value === 'number' ? value : null);
  const detail = (name: string, member: string): number | null => {
    const details = usage[name];
    return isObject(details) ? count(details[member]) : null;
  };
  return {
    input_tokens: count(usage.input_tokens),
    cached_input_tokens: detail('input_tokens_details', 'cached_tokens'),
    output_tokens: count(usage.output_tokens),
    reasoning_tokens: detail('output_tokens_details', 'reasoning_tokens'),
    estimated: usage.estimated === true,
  };
}
