// Explains what a turn of a key and a model would get: its refusal, mode, rules and accounts, each with its reason.
import { configuredMode } from '../models/mode-resolution.ts';
import type { JsonObject } from '../turn/json/json.ts';
import { type ResolvedName, resolveName, withoutMarks } from '../turn/named-model.ts';
import type { ProviderOf } from '../turn/provider/provider-api.ts';
import { fallbacksOf } from '../turn/routes/fallbacks.ts';
import { dispatchedKind, KINDS, surfaceOf } from '../turn/routes/kinds.ts';
import type { ExplainedMode, Rule, TurnFacts } from '../turn/rules/rule.ts';
import type { AccountConfig, KeyConfig, PoolConfig } from '../turn/settings.ts';
import { tiersOf } from '../turn/tiers.ts';
import type { Route } from '../turn/turn.ts';
import { type ExplainedAccount, explainAccounts } from './candidates.ts';
import { chainOf, type ExplainedChain, type LinkedTurn } from './chain.ts';
import { type ExplainedChoice, explainChoice } from './choice.ts';
import type { ExplainedCap, ExplainedConfig, ExplainedSession, Facts, LiveModel, LiveModels, TurnPreviews } from './facts.ts';
import { lackingOf } from './lacking.ts';

export interface Question {
  readonly key?: string | undefined;
  /** Replaces the model in the body. */
  readonly model?: string | undefined;
  readonly session?: ExplainedSession | undefined;
  /** The body of a turn of this route. */
  readonly body?: JsonObject | undefined;
}

export interface ExplainedTurn {
  readonly pool: string;
  readonly key: string | null;
  readonly model: string | null;
  /** The alias of the model (AM69); null for an exposed id. */
  readonly alias: string | null;
  /** The refusal before an account is chosen, such as `403 model_not_allowed: …`. Null if none is known. */
  readonly refused: string | null;
  /** Null without a model. */
  readonly mode: ExplainedMode | null;
  /** The effect of each rule on this turn, by its name. Rules that depend only on the body are left out. */
  readonly rules: Readonly<Record<string, string>>;
  readonly accounts: readonly ExplainedAccount[];
  /** Null for a turn that is refused, or if the choice is unknown. */
  readonly choice: ExplainedChoice | null;
  /** Null for a model without fallbacks. */
  readonly chain: ExplainedChain | null;
}

/** The inputs of an explanation, in addition to the configuration. */
export interface ExplainSources {
  readonly rules: readonly Rule[];
  readonly providerOf: ProviderOf;
  /** Undefined without the running gateway. */
  readonly live?: LiveModels;
  /** For questions with a body. Only the running gateway has them. */
  readonly previews?: TurnPreviews;
  /** Unix milliseconds. */
  readonly now: number;
}

/**
 * Explains the turn for the key's Pool, or for every Pool if no key is named.
 * @returns undefined for a key that is not in the configuration
 */
export async function explainTurns(
  config: ExplainedConfig,
  route: Route,
  question: Question,
  sources: ExplainSources,
): Promise<readonly ExplainedTurn[] | undefined> {
  const key = config.keys.find(({ id }) => id === question.key);
  if (question.key !== undefined && !key) return undefined;
  const pools = key ? config.pools.filter(({ id }) => id === key.pool) : config.pools;
  const named = question.model ?? question.body?.model;
  const asked = namesModel(route) && typeof named === 'string' ? named : undefined;
  const turns = pools.map(async (pool): Promise<ExplainedTurn> => {
    const { live, rules } = sources;
    const { id: model, alias } = asked === undefined ? UNNAMED : modelNamed(asked, { pool, route, live, key });
    const of = (name: string | undefined, id: string | undefined): Promise<LinkedTurn> =>
      linkedTurn({ ...sources, config, route, question, pool, key }, name, id);
    const turn = await of(asked, model);
    const fallbacks = await Promise.all(
      (fallbacksOf(pool.models, { model: turn.facts.model, kind: route.kind && KINDS[route.kind], body: question.body }) ?? []).map((id) =>
        of(id, id),
      ),
    );
    return {
      pool: pool.id,
      key: key?.id ?? null,
      model: model ?? null,
      alias: alias ?? null,
      refused: turn.refused,
      mode: turn.facts.mode,
      rules: effectsOf(rules, turn.facts),
      accounts: explainAccounts(turn.facts),
      choice: turn.choice ?? null,
      chain: fallbacks.length === 0 ? null : chainOf([turn, ...fallbacks]),
    };
  });
  return Promise.all(turns);
}

interface Explained extends ExplainSources {
  readonly config: ExplainedConfig;
  readonly route: Route;
  readonly question: Question;
  readonly pool: PoolConfig;
  readonly key: KeyConfig | undefined;
}

/** @param asked the name that the client sends @param model its exposed id */
async function linkedTurn(explained: Explained, asked: string | undefined, model: string | undefined): Promise<LinkedTurn> {
  const { config, route, question, pool, key, live, previews, providerOf, now } = explained;
  const { session, body } = question;
  const liveModel = model === undefined ? undefined : live?.model(pool, model);
  const isPreviewed = body && dispatchedKind(route.kind);
  const preview = isPreviewed && (await previews?.of({ route, pool, key, body: asked === undefined ? body : { ...body, model: asked } }));
  const known = {
    ...{ config, pool, key, model, asked, live: liveModel, preview, session, providerOf, now },
    mode: model === undefined ? null : modeOf(pool, model, liveModel),
    accounts: accountsOf(pool, config),
    caps: live?.caps(pool) ?? capsWithout(pool),
  };
  const facts: Facts = { ...known, lacking: lackingOf(known, route) };
  const refused = refusalOf(facts, route);
  return { facts, refused, choice: refused === null ? explainChoice(facts) : undefined };
}

/** The caps without a running gateway, when the money spent is unknown. */
const capsWithout = (pool: PoolConfig): readonly ExplainedCap[] =>
  tiersOf(pool).caps.flatMap(({ tier = null, limits }) =>
    (['day', 'month'] as const).flatMap((window) => {
      const max = limits[`usd_per_${window}`];
      return max === undefined ? [] : [{ tier, window, max, spent: null, left: null }];
    }),
  );

const namesModel = ({ kind }: Route): boolean => dispatchedKind(kind)?.model === true || kind === 'embeddings';

const UNNAMED = { id: undefined, alias: undefined };

/** The exposed id of a name. Without the running gateway only the targets of aliases are known to be exposed. */
function modelNamed(
  name: string,
  {
    pool,
    route,
    live,
    key,
  }: { readonly pool: PoolConfig; readonly route: Route; readonly live: LiveModels | undefined; readonly key: KeyConfig | undefined },
): ResolvedName {
  if (surfaceOf(route.kind) !== 'messages') return { id: name, alias: undefined };
  const aliases = pool.aliases ?? {};
  const isExposed = (id: string): boolean => {
    if (key?.models?.includes(id) === false) return false;
    const presence = live?.model(pool, id)?.presence;
    return presence === undefined ? Object.values(aliases).includes(id) : presence === 'routable' || presence === 'unroutable';
  };
  return resolveName(name, aliases, isExposed) ?? { id: withoutMarks(name), alias: undefined };
}

const accountsOf = (pool: PoolConfig, config: ExplainedConfig): readonly AccountConfig[] =>
  pool.assignments.flatMap((assignment) => config.accounts.find(({ id }) => id === assignment.account) ?? []);

function effectsOf(rules: readonly Rule[], facts: TurnFacts): ExplainedTurn['rules'] {
  const effects = rules.map((rule) => [rule.name, rule.explain?.(facts)] as const);
  return Object.fromEntries(effects.filter((one): one is readonly [string, string] => one[1] !== undefined));
}

function modeOf(pool: PoolConfig, model: string, live: LiveModel | undefined): ExplainedMode {
  const configured = configuredMode(pool, model);
  const override = configured === 'auto' ? '' : `serving_modes of Pool ${pool.id} says ${configured}`;
  if (!live) {
    if (configured === 'auto') {
      return {
        configured,
        effective: null,
        source: null,
        why: 'the catalogs of the accounts decide, and only the running gateway knows them',
      };
    }
    return { configured, effective: configured, source: 'override', why: `${override}, while a source is routable` };
  }
  const { mode } = live;
  if (!mode) return { configured, effective: null, source: null, why: 'no source is routable' };
  const lite = live.sources.filter((source) => source.routable && source.lite).map(({ account }) => account);
  const catalog = lite.length > 0 ? `${lite.join(', ')} reports Lite` : 'no routable source reports a literal true';
  return { ...mode, why: mode.source === 'override' ? override : catalog };
}

/** The first refusal in the order of the checks (Q4). */
function refusalOf({ key, model, live, pool, preview, now }: Facts, route: Route): string | null {
  if (key && key.status !== 'active') return `401 api_key_disabled: key ${key.id} is ${key.status}`;
  if (key?.expires_at !== undefined && now >= key.expires_at) return `401 api_key_expired: key ${key.id} has expired`;
  if (route.status === 'unsupported') return '404 unsupported_endpoint: the row is marked unsupported';
  if (model === undefined) return preview?.refused ?? null;
  if (key?.models && !key.models.includes(model)) return `403 model_not_allowed: ${model} is not in the models of key ${key.id}`;
  const suppressed = Object.hasOwn(pool.models, model) && pool.models[model]?.suppressed === true;
  if (suppressed) return `400 invalid_model: ${model} is suppressed in Pool ${pool.id}`;
  if (live?.presence === 'absent') return `400 invalid_model: no account of Pool ${pool.id} lists ${model}`;
  if (live?.makesEmbeddings && route.kind !== 'embeddings') return `400 invalid_model: ${model} makes embeddings, and takes no turns`;
  if (live?.presence === 'unknown') return `503 no_eligible_account: no catalog of Pool ${pool.id} has been read yet`;
  if (live && !live.mode) return '503 no_eligible_account: no source is routable';
  return preview?.refused ?? null;
}
