// The account rows that the nodes of a simulated day share: each node reads its own writes at once, and writes of other nodes after a
// delay.
import type { Clock } from '../../proxy/base/time/clock.ts';
import type { AccountStateKey, AccountStatePatch, AccountStateRow, Store } from '../../store/store.ts';

interface Write {
  readonly at: number;
  readonly node: number;
  readonly patch: Partial<AccountStateRow>;
}

/** One row: the part that all nodes see, and later writes, which only their writers see. */
interface History {
  row: AccountStateRow;
  writes: readonly Write[];
}

/** Called after the delay of a write. */
export type Announce = (writer: number, key: AccountStateKey) => void;

export class DelayedRows {
  readonly #clock: Clock;
  readonly #delayMs: number;
  readonly #announce: Announce;
  readonly #histories = new Map<string, History>();

  constructor(clock: Clock, delayMs: number, announce: Announce) {
    this.#clock = clock;
    this.#delayMs = delayMs;
    this.#announce = announce;
  }

  /** The store of one node. Leases are never lost, because no simulated node is paused. */
  of(node: number): Store['accounts'] {
    const write = (patch: AccountStatePatch): void => this.#write(node, patch);
    return {
      patch: write,
      patchNow: write,
      patchUnder: async (_lease, patch) => {
        write(patch);
        return true;
      },
      load: async () => [],
      find: async (keys) => keys.flatMap((key) => this.#seenBy(node, key) ?? []),
    };
  }

  #write(node: number, patch: AccountStatePatch): void {
    const { account, model } = patch;
    const at = this.#clock.now();
    const history = this.#settled(patch) ?? {
      row: {
        account,
        model,
        health: 'active',
        cooldown_until: null,
        streak: 0,
        cause: null,
        windows: null,
        missing_compact_path: null,
        compact_path_missing_at: null,
        updated_at: 0,
        health_at: 0,
      },
      writes: [],
    };
    this.#histories.set(nameOf(patch), history);
    history.writes = [...history.writes, { at, node, patch: patch.health === undefined ? patch : { ...patch, health_at: at } }];
    this.#clock.after(this.#delayMs, () => this.#announce(node, { account, model }));
  }

  #seenBy(node: number, key: AccountStateKey): AccountStateRow | undefined {
    const history = this.#settled(key);
    const own = history?.writes.filter((write) => write.node === node) ?? [];
    return history && Object.assign({ ...history.row }, ...own.map(({ patch }) => patch));
  }

  /** The history of the row, including the writes that all nodes see by now. */
  #settled(key: AccountStateKey): History | undefined {
    const history = this.#histories.get(nameOf(key));
    if (!history) return undefined;
    const visible = this.#clock.now() - this.#delayMs;
    const open = history.writes.findIndex(({ at }) => at > visible);
    const settled = open === -1 ? history.writes.length : open;
    for (const { patch } of history.writes.slice(0, settled)) history.row = { ...history.row, ...patch };
    if (settled > 0) history.writes = history.writes.slice(settled);
    return history;
  }
}

const nameOf = ({ account, model }: AccountStateKey): string => `${account}\n${model}`;
