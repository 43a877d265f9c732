// The asker is who sends a request to the admin listener. This file determines what an asker may see and change.
import type { OperatorView } from '../../mcp/operator-view.ts';

export interface Asker {
  /** The value of `actor` in audit rows. */
  readonly actor: string;
  /** Id of the operator; null on loopback, where no sign-in is required. */
  readonly operator: string | null;
  /** What the asker may see in the current configuration. */
  view(): OperatorView;
}

/** The rights that an answer requires. */
export type Need =
  /** Any asker who is signed in. Answers contain only what the asker may see. */
  | 'view'
  /** The right to see and change everything. */
  | 'whole';

/** Whether the asker may act on an account, because all Pools of the account belong to the asker. */
export const mayChangeAccount = (asker: Asker, id: string): boolean => asker.view().ownsAccount(id);

/** The Pools that the asker may change. Undefined means all, including Pools that were added to the file after its last load. */
export const ownedPools = (asker: Asker): readonly string[] | undefined => {
  const view = asker.view();
  return view.isWhole ? undefined : view.pools.filter((pool) => view.isOwned(pool)).map(({ id }) => id);
};

/** Whether the asker may change keys and modes of a Pool. */
export const mayChangePool = (asker: Asker, id: string): boolean => {
  const view = asker.view();
  return view.isWhole || view.isOwned({ id });
};
