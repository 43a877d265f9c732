// The gateway's part of `account test`: the credential, the list of models, and one short turn over each carrier (AA87).
import type {
  AccountTester,
  AccountTestOrder,
  AccountTestPlan,
  AccountTestReply,
  AccountTestStep,
  TestedCarrier,
} from '../../admin/replies/account-test-report.ts';
import type { Generation } from '../../server/generation.ts';
import { priceAt } from '../../turn/costs/prices.ts';
import { isApiAccount } from '../../turn/provider/api-account.ts';
import type { AccountConfig, PoolConfig } from '../../turn/settings.ts';
import { inputTokens } from '../../turn/token-estimate.ts';
import type { ModelView } from '../../turn/turn.ts';
import type { AccountHeaders } from '../../upstream/account-credentials.ts';
import { turnHost } from '../handlers.ts';
import type { Services } from '../services.ts';
import { credentialStep, modelsStep } from './first-steps.ts';
import { OUTPUT_TOKENS, plainBody, resultBody, toolBody } from './test-bodies.ts';
import { testFailure, testStep } from './test-step.ts';
import { kindFor, type TestSubject } from './test-turn.ts';
import { turnSteps } from './turn-steps.ts';

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
    const chosen = order.turn ? this.#choose(account, order) : undefined;
    // If a model is named, it has to be known. Otherwise the test reports that no model is known.
    if (typeof chosen === 'string' && order.model !== undefined) return chosen;
    if (chosen === undefined || typeof chosen === 'string') return { ...known, model: null, over: [], at_most_usd: null };
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
    const steps = account ? await this.#steps(account, plan, { order, generation }) : [];
    return { plan, steps, ok: steps.every(({ ok }) => ok) };
  }

  async #steps(
    account: AccountConfig,
    { over }: AccountTestPlan,
    { order, generation }: { readonly order: AccountTestOrder; readonly generation: Generation },
  ): Promise<readonly AccountTestStep[]> {
    const { clock, credentials, providerOf, upstreams } = this.#services;
    const { step: first, headers } = await credentialStep(account, {
      clock,
      read: () => credentials.headersFor(account, generation.loaded.bearers.get(account.id)),
      hasLogin: async () => (await credentials.vault.find(account.id)) !== undefined,
    });
    const upstream = upstreams.of(account.id);
    if (!headers || !upstream) return [first];
    const { wire } = generation.config;
    const list = await modelsStep(account, { clock, provider: providerOf(account), upstream, headers, wire });
    const steps = [first, ...(list ? [list] : [])];
    if (!order.turn) return steps;
    const chosen = this.#choose(account, order);
    if (typeof chosen === 'string') {
      // The failed read of the list states the reason already.
      const isSaid = list?.ok === false;
      return isSaid ? steps : [...steps, testStep({ step: 'turn', ms: 0, failure: testFailure('no_model', { message: chosen }) })];
    }
    const subject = this.#subject({ account, headers, generation }, chosen);
    if (subject) for (const carrier of over) steps.push(...(await turnSteps(subject, carrier, order.tools)));
    return steps;
  }

  #choose(account: AccountConfig, order: AccountTestOrder): TestedModel | string {
    return testedModel(account, order, { models: this.#services.models, pools: this.#generation().pools });
  }

  #carriersOf(account: AccountConfig): readonly TestedCarrier[] {
    const hasFrames = account.websocket && this.#services.providerOf(account).requests.frames !== undefined;
    return hasFrames ? ['http', 'websocket'] : ['http'];
  }

  /** What the turns of a test have in common. The state of the account is ignored, because the test is to show whether it fails. */
  #subject(
    of: { readonly account: AccountConfig; readonly headers: AccountHeaders; readonly generation: Generation },
    { pool, model }: TestedModel,
  ): TestSubject | undefined {
    const route = of.generation.routes.all.find(({ kind, method }) => kind === kindFor(of.account) && method === 'POST');
    const { clock, tokens, capsules, models } = this.#services;
    const services = {
      clock,
      tokens,
      capsules,
      models: { find: () => model, presence: () => 'routable' as const, serves: () => true, etag: () => '' },
      files: { find: () => undefined },
      capacity: { recoversIn: () => undefined },
    };
    return (
      route && {
        ...of,
        services: this.#services,
        host: { ...turnHost(this.#services), services },
        route,
        pool,
        model,
        known: models.accountModel(of.account, model.id),
      }
    );
  }
}

/** The most tokens of the turns over one carrier. */
function mostTokens(model: string, { tools }: AccountTestOrder): { readonly input: number; readonly output: number } {
  if (!tools) return { input: inputTokens(plainBody(model)), output: OUTPUT_TOKENS };
  const first = inputTokens(toolBody(model, { forced: true }));
  return { input: first + inputTokens(resultBody(model, [])) + OUTPUT_TOKENS, output: 2 * OUTPUT_TOKENS };
}

interface TestedModel {
  readonly pool: PoolConfig;
  readonly model: ModelView;
}

/**
 * The model of a test's turn: the requested one, or the first one that takes turns, in the first Pool that has the account. Returns a text
 * with the reason if there is none.
 */
function testedModel(
  account: AccountConfig,
  { model: asked }: Pick<AccountTestOrder, 'model'>,
  { models, pools }: Pick<Services, 'models'> & Pick<Generation, 'pools'>,
): TestedModel | string {
  const having = [...pools.values()].filter(({ assignments }) => assignments.some((assignment) => assignment.account === account.id));
  if (having.length === 0) return `account '${account.id}' is in no Pool: assign it to one, or add --no-turn`;
  for (const pool of having) {
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
  return `no model of account '${account.id}' is known: its list could not be read, and it declares none`;
}
