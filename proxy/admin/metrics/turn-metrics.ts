// Counts the results of turns as plain numbers, by family and surface, account, model and key. A turn increments numbers, and a scrape
// reads them.
import type { AttemptRow, RequestRow } from '../../../store/schema/logged-rows.ts';
import { Durations } from '../../base/time/durations.ts';

/** The label for names that must not be shown, because no text of a client becomes a label (S4). */
export const OTHER = 'other';

/** The most names of models, codes, accounts and keys each. Further names count as `other`, so that memory is bounded. */
const MOST_NAMES = 2_000;

export interface FamilyCells {
  /** Turns by error code (empty without one) and by the first digit of their status. */
  readonly turns: Map<string, number[]>;
  readonly duration: Durations;
  readonly firstEvent: Durations;
}

export interface ModelCells {
  input: number;
  cachedInput: number;
  output: number;
}

export interface AccountCells {
  /** The number of attempts by outcome. */
  readonly attempts: Map<string, number>;
  /** The number of attempts by what the request lost or changed for the account (AA83). */
  readonly adapted: Map<string, number>;
  /** The number of turns whose usage was estimated. */
  estimated: number;
}

/** The data of a turn that its row does not contain. */
export interface MeasuredTurn {
  /** Whether the Pool has the model. Only then its name becomes a label. */
  readonly modelKnown: boolean;
  /** The cost in billionths of a US dollar. */
  readonly costNanos: number;
}

export class TurnMetrics {
  /** The counts by family, then by surface, which is the API of the clients (AM68). */
  readonly families = new Map<string, Map<string, FamilyCells>>();
  readonly models = new Map<string, ModelCells>();
  /** The counts by the account's label. */
  readonly accounts = new Map<string, AccountCells>();
  /** The number of attempts after the first one of their turn, by cause. */
  readonly failovers = new Map<string, number>();
  /** The number of turns that left their base tier, or stayed above it, by Pool, tier and reason (AA72). */
  readonly overflows = new Map<string, number>();
  /** The cost in billionths of a US dollar by Pool and tier. */
  readonly overflowCosts = new Map<string, number>();
  /** The number of turns that a higher tier did not take, by Pool and reason. */
  readonly overflowsRefused = new Map<string, number>();
  /** The number of turns by Pool, requested model and served model (AA77). */
  readonly fallbacks = new Map<string, number>();
  /** The cost in billionths of a US dollar by key id. */
  readonly costs = new Map<string, number>();

  overflowRefused(pool: string, reason: string): void {
    count(this.overflowsRefused, labelsOf(pool, reason), 1);
  }

  record(row: RequestRow, attempts: readonly AttemptRow[], { modelKnown, costNanos }: MeasuredTurn): void {
    const family = cellsOf(cellsOf(this.families, row.family, newSurfaces), row.surface, newFamily);
    const turns = cellsOf(family.turns, row.code ?? '', newStatuses);
    const digit = Math.min(5, Math.floor(row.status / 100));
    turns[digit] = (turns[digit] ?? 0) + 1;
    family.duration.add(row.duration_ms);
    if (row.first_event_ms !== null) family.firstEvent.add(row.first_event_ms);
    if (attempts.length === 0) return;
    for (const { account, adapted, cause, ordinal, error_class, status } of attempts) {
      const { attempts: outcomes, adapted: names } = cellsOf(this.accounts, account, newAccount);
      if (adapted !== null) for (const name of adapted.split(',')) count(names, name, 1);
      count(outcomes, error_class ?? (status === null ? 'unfinished' : 'answered'), 1);
      if (ordinal > 0) count(this.failovers, cause, 1);
    }
    if (row.tokens_estimated && row.account !== null && row.api !== null && row.api !== 'agent')
      cellsOf(this.accounts, row.account, newAccount).estimated += 1;
    if (row.tier !== null && row.tier > 0 && row.pool !== null) {
      if (row.overflow !== null) count(this.overflows, labelsOf(row.pool, row.tier, row.overflow), 1);
      if (costNanos > 0) count(this.overflowCosts, labelsOf(row.pool, row.tier), costNanos);
    }
    if (row.requested_model !== null && row.pool !== null && row.model !== null) {
      count(this.fallbacks, labelsOf(row.pool, row.requested_model, row.model), 1);
    }
    const tokens = cellsOf(this.models, modelKnown ? (row.model ?? OTHER) : OTHER, newModel);
    tokens.input += row.input_tokens ?? 0;
    tokens.cachedInput += row.cached_input_tokens ?? 0;
    tokens.output += row.output_tokens ?? 0;
    if (costNanos > 0 && row.key_id !== null) count(this.costs, row.key_id, costNanos);
  }
}

/** Several labels as one name. No label contains a line break. */
const labelsOf = (...labels: readonly (string | number)[]): string => labels.join('\n');

const newSurfaces = (): Map<string, FamilyCells> => new Map();
const newFamily = (): FamilyCells => ({ turns: new Map(), duration: new Durations(), firstEvent: new Durations() });
const newStatuses = (): number[] => [0, 0, 0, 0, 0, 0];
const newModel = (): ModelCells => ({ input: 0, cachedInput: 0, output: 0 });
const newAccount = (): AccountCells => ({ attempts: new Map(), adapted: new Map(), estimated: 0 });

function cellsOf<Cells>(map: Map<string, Cells>, name: string, create: () => Cells): Cells {
  const known = map.get(name);
  if (known !== undefined) return known;
  const bounded = map.size < MOST_NAMES ? name : OTHER;
  const cells = map.get(bounded) ?? create();
  map.set(bounded, cells);
  return cells;
}

function count(map: Map<string, number>, name: string, by: number): void {
  const bounded = map.has(name) || map.size < MOST_NAMES ? name : OTHER;
  map.set(bounded, (map.get(bounded) ?? 0) + by);
}
