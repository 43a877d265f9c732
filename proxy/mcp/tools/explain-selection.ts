// `explain_selection`: the account that a turn went to or would go to, and the reason why each other one was not chosen.
import type { RequestRow } from '../../../store/store.ts';
import type { ExplainedAccount } from '../../explain/candidates.ts';
import type { ExplainedChoice } from '../../explain/choice.ts';
import { type ExplainedTurn, explainTurns } from '../../explain/explanation.ts';
import { liveModels } from '../../explain/live-models.ts';
import { routeNamed } from '../../explain/route-name.ts';
import { args, flag, integer, list, name, nullable, object, oneOf, text, type ValueOf } from '../../turn/json/field-schemas.ts';
import { LACKS } from '../../turn/provider/lack.ts';
import type { KeyConfig } from '../../turn/settings.ts';
import type { Route } from '../../turn/turn.ts';
import { ACCOUNTS_THEN, accountsThen } from '../accounts-then.ts';
import { CAP, PRICES, shownCap } from '../money-fields.ts';
import type { OperatorView } from '../operator-view.ts';
import { REQUEST_ATTEMPT, REQUEST_ROW, shownAttempt, shownRequest } from '../request-rows.ts';
import { ToolError, tool } from '../tool.ts';

const ENDPOINT = 'POST /v1/responses';

const LOGGED = object({
  request: REQUEST_ROW,
  attempts: list('Every attempt at an account, in order; empty for a request that was refused before.', REQUEST_ATTEMPT),
  accounts: ACCOUNTS_THEN,
});

const CHAIN = object(
  {
    models: list(
      'The asked model, then its fallbacks.',
      object({
        model: text('Exposed model id.'),
        account: nullable(text('Id of the account that a turn of it would go to now; null if there is none.')),
        why: text('The reason.'),
      }),
    ),
    ends: nullable(text('The model that would serve the turn now; null if none would.')),
  },
  'The models that a turn goes on to where no account can serve the asked one; null for a model without fallbacks.',
);

const ACCOUNT = object({
  account: text('Id of the account.'),
  label: text('Its label.'),
  chosen: flag('Whether a turn would go there now.'),
  takes: oneOf(
    ['first', 'overflow', 'pinned', 'higher_tier', 'no', 'unknown'],
    'first: preferred. overflow: only if no preferred one can. pinned: only turns that are bound to it. higher_tier: only turns that lower tiers cannot take. no: it takes no turn of this model now. ' +
      'unknown: no model was named.',
  ),
  why: text('The reason why it would be chosen, or why it is not chosen.'),
  api: text('The API that it speaks: agent, responses or chat.'),
  tier: integer('The tier of its assignment: a higher one is asked where the lower ones cannot take a turn.'),
  lack: nullable(oneOf(LACKS, 'What it lacks for such a turn, so that it is no candidate; null where nothing is known to be.')),
  prices: nullable(PRICES),
  caps: list('The caps in US dollars that hold in its tier.', CAP),
  efforts: list(
    'What goes out for each effort that a turn may ask for; empty for accounts that get each as it is.',
    object({
      effort: text('The asked effort.'),
      sent: nullable(text("The account's word for it; null: none is sent.")),
    }),
  ),
});

const TURN = object({
  pool: text('Id of the Pool.'),
  key: nullable(text('Id of the key; null: any key of the Pool.')),
  model: nullable(text('Exposed model id; null: any model.')),
  alias: nullable(text('The alias under which it was asked for; null for an exposed id.')),
  refused: nullable(text('The refusal that a turn gets before an account is chosen; null if none is known.')),
  chosen: nullable(text('Id of the account that a turn would go to now; null if there is none, or no model was named.')),
  tied: list('Accounts that are as good as the chosen one: the id of each turn decides between them.', text('Id of an account.')),
  reason: nullable(text('Why the chosen one: soft_pin (its session went there last), or the strategy of the Pool.')),
  why: text('The same as a sentence, also where no account is chosen.'),
  mode: nullable(
    object({
      configured: oneOf(['auto', 'lite', 'full'], 'Configured serving mode.'),
      effective: nullable(oneOf(['lite', 'full'], 'Effective mode; null while no account is usable.')),
      why: text('What decides it.'),
    }),
  ),
  chain: nullable(CHAIN),
  accounts: list('Every account of the Pool, in the order of its assignments.', ACCOUNT),
});

export const explainSelection = tool({
  name: 'explain_selection',
  title: 'Why this account',
  description:
    'Explains which account a turn went to or would go to, and why each other account was not chosen. With request_id it shows what happened to that ' +
    'request: its row, every attempt with its duration and failure, and how long it waited before; use it for "why was my last turn slow" and "why did ' +
    'it go to that account". With key and model, or pool and model, it shows for a turn that is sent now the refusal, or the chosen account and the ' +
    'reason for each other one; continuity_id adds the session of the turn. It asks no account and changes nothing.',
  input: args({
    request_id: name(
      'A request of the log (header x-request-id, or id of list_requests). The answer also has what a turn of its key and model gets now.',
    ),
    key: name('A Pool API key (id).'),
    pool: name('A Pool (id), if no key is named. Without both, every Pool of yours is explained.'),
    model: name('Exposed model id.'),
    continuity_id: text('With key: the value of a session header of the client, such as session-id.', { minLength: 1, maxLength: 1000 }),
    endpoint: text(`Method and path of the turn. ${ENDPOINT} by default.`, {
      pattern: '^(GET|POST|DELETE|WS) /\\S{0,300}$',
      default: ENDPOINT,
    }),
  }),
  output: object({
    logged: nullable(LOGGED),
    now: list('What a turn gets now, one entry per Pool; empty for a request whose key or route does not exist any more.', TURN),
  }),
  async run(asked, view) {
    const { request_id, continuity_id } = asked;
    if (request_id !== undefined && (asked.key ?? asked.pool ?? asked.model) !== undefined) {
      throw new ToolError(
        'request_id is for a request of the log, key, pool and model are for a turn that is sent now: name one or the other',
      );
    }
    const row = request_id === undefined ? undefined : await logged(request_id, view);
    const question = row ? questionOf(row) : asked;
    const key = question.key === undefined ? undefined : view.key(question.key);
    if (!row) checkKnown(asked, key, view);
    if (continuity_id !== undefined && !key) throw new ToolError('continuity_id needs the key of the session');
    const session =
      key && continuity_id !== undefined ? { account: await view.services.continuity.accountOf(key, continuity_id) } : undefined;
    const route = routeOf(question.endpoint ?? ENDPOINT, view);
    if (!row && !route) throw new ToolError(`endpoint: the route table has no ${asked.endpoint}`);
    const now =
      route && (!row || key) ? await explain(route, { key, pool: question.pool, model: question.model ?? undefined, session }, view) : [];
    return { logged: row ? await shownLogged(row, view) : null, now };
  },
});

async function logged(request: string, { services, poolIds }: OperatorView): Promise<RequestRow> {
  const { store } = services;
  await store.flush();
  const [row] = await store.requests.list({ id: request, pools: poolIds, limit: 1 });
  if (!row) throw new ToolError('request_id: there is no such request in the log of your Pools');
  return row;
}

async function shownLogged(row: RequestRow, view: OperatorView): Promise<ValueOf<typeof LOGGED>> {
  const attempts = await view.services.store.attempts.of(row);
  return {
    request: shownRequest(row),
    attempts: attempts.map((attempt) => shownAttempt(attempt, row)),
    accounts: accountsThen(row, attempts, view),
  };
}

interface Asked {
  readonly key?: string | undefined;
  readonly pool?: string | undefined;
  readonly model?: string | null | undefined;
  readonly endpoint?: string | undefined;
}

/** The question for a logged turn, as if it were sent again. */
const questionOf = ({ key_id, pool, model, method, endpoint }: RequestRow): Asked => ({
  key: key_id ?? undefined,
  pool: pool ?? undefined,
  model,
  endpoint: `${method} ${endpoint}`,
});

function checkKnown(asked: Asked, key: KeyConfig | undefined, view: OperatorView): void {
  if (asked.key !== undefined && !key) throw new ToolError('key: there is no such key in your Pools; list_keys has them');
  if (asked.pool !== undefined && !view.poolIds.includes(asked.pool)) {
    throw new ToolError('pool: there is no such Pool of yours; list_pools has them');
  }
}

function routeOf(endpoint: string, { settings }: OperatorView): Route | undefined {
  const [method = '', path = ''] = endpoint.split(' ');
  return routeNamed(settings, method, path);
}

interface Question {
  readonly key: KeyConfig | undefined;
  readonly pool: string | undefined;
  readonly model: string | undefined;
  readonly session: { readonly account: string | undefined } | undefined;
}

async function explain(
  route: Route,
  { key, pool, model, session }: Question,
  view: OperatorView,
): Promise<readonly ValueOf<typeof TURN>[]> {
  const { rules, services } = view;
  const pools = key ? view.pools : view.pools.filter((one) => pool === undefined || one.id === pool);
  const visible = { accounts: view.accounts, keys: view.keys, pools };
  const sources = { rules, providerOf: services.providerOf, live: liveModels(services), now: view.now() };
  const turns = (await explainTurns(visible, route, { key: key?.id, model, session }, sources)) ?? [];
  return turns.map((turn) => shownTurn(turn, view));
}

function shownTurn(
  { pool, key, model, alias, refused, mode, accounts, choice, chain }: ExplainedTurn,
  view: OperatorView,
): ValueOf<typeof TURN> {
  return {
    ...{ pool, key, model, alias, refused },
    chosen: choice?.account ?? null,
    tied: choice?.tied ?? [],
    reason: choice?.reason ?? null,
    why: choice?.why ?? (refused === null ? 'name a model to see the choice' : 'a turn is refused before an account is chosen'),
    mode: mode && { configured: mode.configured, effective: mode.effective, why: mode.why },
    chain,
    accounts: accounts.map((account) => ({
      account: account.account,
      label: view.labelOf(account.account),
      chosen: account.account === choice?.account,
      takes: account.takes,
      why: whyOf(account, choice),
      ...{ api: account.api, tier: account.tier, lack: account.lack, prices: account.prices },
      caps: account.caps.map(shownCap),
      efforts: Object.entries(account.efforts).map(([effort, sent]) => ({ effort, sent })),
    })),
  };
}

/** The reason why an account was not chosen. If it could take the turn, another one was preferred. */
function whyOf({ account, takes, why }: ExplainedAccount, choice: ExplainedChoice | null): string {
  const chosen = choice?.account ?? undefined;
  if (chosen === undefined || account === chosen || takes === 'no' || takes === 'unknown') return why;
  if (choice?.tied.includes(account)) return `${why}; as good as ${chosen}`;
  if (takes === 'pinned') return `${why}, so that only turns that are bound to it go there`;
  return `${why}; ${choice?.reason === 'soft_pin' ? `the session stays with ${chosen}` : `${choice?.reason} prefers ${chosen}`}`;
}
