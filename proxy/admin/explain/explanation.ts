// What a turn of this key and model would meet: its refusal, its mode, its rules, its accounts, and why each of them.
import type { ExplainedMode, Rule, TurnFacts } from '../../../rules/rule.ts';
import type { Config } from '../../config/config.ts';
import { configuredMode } from '../../models/mode-resolution.ts';
import { dispatchedKind } from '../../turn/kinds.ts';
import type { PoolConfig } from '../../turn/settings.ts';
import type { Route } from '../../turn/turn.ts';
import { type ExplainedAccount, explainAccounts } from './candidates.ts';
import type { Live, LiveModel } from './live-facts.ts';

export interface Question {
  readonly key?: string | undefined;
  readonly model?: string | undefined;
}

export interface ExplainedTurn {
  readonly pool: string;
  readonly key: string | null;
  readonly model: string | null;
  /** What ends it before any account is asked, as `403 model_not_allowed: …`; null where nothing that is known here does. */
  readonly refused: string | null;
  /** Null without a model. */
  readonly mode: ExplainedMode | null;
  /** What each rule does to this turn, by name; rules that only the body decides about are left out. */
  readonly rules: Readonly<Record<string, string>>;
  readonly accounts: readonly ExplainedAccount[];
}

/** All that is known of one turn. */
export interface Facts extends TurnFacts {
  readonly config: Config;
  readonly live: LiveModel | undefined;
  /** Unix milliseconds. */
  readonly now: number;
}

/** What explanations are made of, beside the configuration. */
export interface Sources {
  readonly rules: readonly Rule[];
  /** Undefined without the running gateway. */
  readonly live?: Live;
  /** Unix milliseconds. */
  readonly now: number;
}

/** Kinds whose body names a model of the catalog. */

/**
 * One answer for the key's Pool, or one for every Pool where no key is named.
 * @returns undefined for a key that is not in the configuration
 */
export function explainTurns(
  config: Config,
  route: Route,
  question: Question,
  { rules, live, now }: Sources,
): readonly ExplainedTurn[] | undefined {
  const key = config.keys.find(({ id }) => id === question.key);
  if (question.key !== undefined && !key) return undefined;
  const model = dispatchedKind(route.kind)?.model ? question.model : undefined;
  const pools = key ? config.pools.filter(({ id }) => id === key.pool) : config.pools;
  return pools.map((pool) => {
    const of = model === undefined ? undefined : live?.model(pool, model);
    const mode = model === undefined ? null : modeOf(pool, model, of);
    const facts: Facts = { config, pool, key, model, live: of, mode, now, accounts: accountsOf(pool, config) };
    return {
      pool: pool.id,
      key: key?.id ?? null,
      model: model ?? null,
      refused: refusalOf(facts, route),
      mode,
      rules: effectsOf(rules, facts),
      accounts: explainAccounts(facts),
    };
  });
}

const accountsOf = (pool: PoolConfig, config: Config): TurnFacts['accounts'] =>
  pool.assignments.flatMap((assignment) => config.accounts.find(({ id }) => id === assignment.account) ?? []);

function effectsOf(rules: readonly Rule[], facts: TurnFacts): ExplainedTurn['rules'] {
  const effects = rules.map((rule) => [rule.name, rule.explain?.(facts)] as const);
  return Object.fromEntries(effects.filter((one): one is readonly [string, string] => one[1] !== undefined));
}

function modeOf(pool: PoolConfig, model: string, live: LiveModel | undefined): ExplainedMode {
  const configured = configuredMode(pool, model);
  const says = configured === 'auto' ? '' : `serving_modes of Pool ${pool.id} says ${configured}`;
  if (!live) {
    if (configured === 'auto') {
      return { configured, effective: null, source: null, why: 'the catalogs of the accounts decide, which the running gateway knows' };
    }
    return { configured, effective: configured, source: 'override', why: `${says}, for as long as a source is routable` };
  }
  const { mode } = live;
  if (!mode) return { configured, effective: null, source: null, why: 'no source is routable, so no mode is resolved' };
  const lite = live.sources.filter((source) => source.routable && source.lite).map(({ account }) => account);
  const catalog = lite.length > 0 ? `${lite.join(', ')} reports Lite` : 'no routable source reports a literal true';
  return { ...mode, why: mode.source === 'override' ? says : catalog };
}

/** In the order of the checks (Q4). */
function refusalOf({ key, model, live, pool, now }: Facts, route: Route): string | null {
  if (key && key.status !== 'active') return `401 api_key_disabled: key ${key.id} is ${key.status}`;
  if (key?.expires_at !== undefined && now >= key.expires_at) return `401 api_key_expired: key ${key.id} has expired`;
  if (route.status === 'unsupported') return '404 unsupported_endpoint: the row is marked unsupported';
  if (model === undefined) return null;
  if (key?.models && !key.models.includes(model)) return `403 model_not_allowed: ${model} is not among the models of key ${key.id}`;
  const suppressed = Object.hasOwn(pool.models, model) && pool.models[model]?.suppressed === true;
  if (suppressed) return `400 invalid_model: ${model} is suppressed in Pool ${pool.id}`;
  if (live?.presence === 'absent') return `400 invalid_model: no account of Pool ${pool.id} lists ${model}`;
  if (live && !live.mode) return '503 no_eligible_account: no source is routable';
  return null;
}
