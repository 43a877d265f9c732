// Runs a request through its rules and encodes it for each account that could take it, as in a turn. Nothing is sent (AA85).
import { LackingAccounts } from '../accounts/selection/lacking-accounts.ts';
import { type Composition, composeFrame, composeJson } from '../dispatch/request/compose.ts';
import type { PreviewedAttempt, PreviewedRequest, TurnPreview, TurnPreviews } from '../explain/facts.ts';
import type { Generation } from '../server/generation.ts';
import type { CiphertextOrigins } from '../turn/ciphertext-origins.ts';
import { dollars } from '../turn/costs/nanos.ts';
import type { ExpectedUsage } from '../turn/costs/spending.ts';
import { Refusal } from '../turn/errors/refusal.ts';
import { LiveTurn } from '../turn/live-turn.ts';
import type { Lack } from '../turn/provider/lack.ts';
import { isCompaction } from '../turn/routes/kinds.ts';
import type { AccountConfig, KeyConfig, PoolConfig } from '../turn/settings.ts';
import { tiersOf } from '../turn/tiers.ts';
import { asksForCompaction } from '../turn/trigger-item.ts';
import type { Body, Work } from '../turn/turn.ts';
import type { TurnHost } from '../turn/turn-host.ts';
import { askedEffort } from '../turn/wire/efforts.ts';
import { turnHost } from './handlers.ts';
import type { Services } from './services.ts';

const WINDOW: Lack = { reason: 'window' };

const NOT_SENT: Pick<PreviewedAttempt, 'adapted' | 'effort'> = { adapted: [], effort: undefined };

/** A turn after its rules. */
interface Prepared {
  readonly turn: LiveTurn;
  readonly work: Work;
  readonly expected: ExpectedUsage;
  readonly origins: CiphertextOrigins | undefined;
}

export class GatewayPreviews implements TurnPreviews {
  readonly #services: Services;
  readonly #host: TurnHost;
  readonly #lacking: LackingAccounts;
  readonly #generation: () => Generation;

  constructor(services: Services, generation: () => Generation) {
    const { capacity, capsules, clock, files, models, providerOf, tokens } = services;
    this.#services = services;
    this.#generation = generation;
    this.#lacking = new LackingAccounts(providerOf, (account, id) => models.accountModel(account, id));
    this.#host = {
      ...turnHost(services),
      services: {
        ...{ capacity, clock, files, tokens },
        capsules: capsules.apart(),
        // For an unknown model a turn reads the lists of its accounts again. An explanation sends no request to an account.
        models: {
          find: (pool, id) => models.models(pool).find(id),
          presence: (pool, id) => models.presence(pool, id),
          serves: (pool, id, account) => models.serves(pool, id, account),
          etag: (pool, key, version) => models.etag(pool, key, version),
        },
      },
    };
  }

  async of({ route, pool, key, body }: PreviewedRequest): Promise<TurnPreview> {
    const turn = this.#turnOf({ route, pool, key });
    const { continuity, accounting, providerOf } = this.#services;
    const work: Work = { body: { ...body } };
    try {
      const { kind } = turn;
      if (kind?.served === 'dispatch' && kind.asCompaction && asksForCompaction(work.body)) turn.become(kind.asCompaction);
      await turn.rules.request(work);
      await turn.rules.edit(work);
      const { hard } = await continuity.resume(turn, work.body);
      const expected = accounting.expected(turn, turn.request ?? body);
      const origins = this.#lacking.isSelective(turn) ? await continuity.origins(turn, work.body) : undefined;
      const prepared = { turn, work, expected, origins };
      const fit = this.#lacking.of(turn, work.body, origins);
      const accounts = new Map<string, PreviewedAttempt>();
      for (const { account: id } of pool.assignments) {
        const account = turn.generation.accounts.get(id);
        if (!account || (turn.model && !this.#serves(turn, id))) continue;
        const lack = fit.lacking.get(id) ?? this.#windowLack(prepared, id);
        accounts.set(id, lack ? { lack, ...NOT_SENT } : await this.#attemptAt(account, providerOf(account), prepared));
      }
      return { refused: undefined, hard, accounts, leastCost: (prices) => dollars(expected.costAt(prices).least) };
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) throw thrown;
      return { refused: refusalText(turn.shown(thrown)), hard: undefined, accounts: new Map(), leastCost: () => 0 };
    } finally {
      turn.held.releaseAll();
    }
  }

  #turnOf({ route, pool, key }: Pick<PreviewedRequest, 'route' | 'pool' | 'key'>): LiveTurn {
    const client = route.method === 'WS' ? ('websocket' as const) : ('http' as const);
    const arrival = {
      ...{ route, client, params: {}, method: route.method, path: route.template, query: '' },
      headers: { 'content-type': 'application/json' },
      keyOf: () => key ?? anyKeyOf(pool),
    } as const;
    const turn = new LiveTurn(arrival, this.#generation(), this.#host);
    turn.identify('');
    return turn;
  }

  #serves(turn: LiveTurn, account: string): boolean {
    return turn.model !== undefined && this.#services.models.serves(turn.pool, turn.model.id, account);
  }

  /** Whether the turn exceeds the context window of an account of a higher tier, which then cannot take it (AA10). */
  #windowLack({ turn, expected }: Prepared, account: string): Lack | undefined {
    const { all, tierOf } = tiersOf(turn.pool);
    const lowest = all.find((tier) =>
      turn.pool.assignments.some((one) => one.tier === tier && one.active && one.eligible && this.#serves(turn, one.account)),
    );
    if (!turn.model || lowest === undefined || tierOf(account) <= lowest) return undefined;
    return this.#services.models.fits(turn.pool, turn.model.id, account, expected.tokens()) ? undefined : WINDOW;
  }

  async #attemptAt(account: AccountConfig, provider: Composition['provider'], prepared: Prepared): Promise<PreviewedAttempt> {
    const { turn, work, origins } = prepared;
    const { capacity, models } = this.#services;
    const body: Body = origins?.foreignTo(account)?.without(work.body) ?? work.body;
    const compacting = account.compact === 'auto' && isCompaction(turn.route.kind);
    const composition: Composition = {
      ...{ turn, provider, work },
      account: compacting ? { ...account, compact: capacity.compactPaths.of(account) } : account,
      // No credential is needed, because nothing is sent.
      own: {},
      session: undefined,
      model: turn.model && models.accountModel(account, turn.model.id),
      estimateUsage: () => undefined,
      trim: () => undefined,
    };
    const frame = turn.client === 'websocket' && account.websocket ? composeFrame(body, composition, undefined) : undefined;
    const { request, adapted = [] } = frame ?? composeJson(body, composition);
    // Awaited, because writing a large body in parts may fail as in a turn.
    await request.body;
    return { lack: undefined, adapted, effort: askedEffort(body) };
  }
}

const refusalText = ({ status, code, error: { param } }: Refusal): string => `${status} ${code}${param === null ? '' : ` at ${param}`}`;

/** A key of the Pool without policies. */
const anyKeyOf = ({ id }: PoolConfig): KeyConfig => ({
  id: '(any key)',
  pool: id,
  weight: 1,
  secret_sha256: [],
  status: 'active',
  limits: {},
  overflow: true,
});
