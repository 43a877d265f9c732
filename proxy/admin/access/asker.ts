// Who asks the admin listener, and what they may see and change.
import type { OperatorView } from '../../mcp/operator-view.ts';

export interface Asker {
  /** The `actor` of audit rows. */
  readonly actor: string;
  /** Id of the operator; null on loopback, where no sign-in is required. */
  readonly operator: string | null;
  /** What they see, as the configuration is now. */
  view(): OperatorView;
}

/** What an answer needs of its asker. */
export type Need =
  /** Anyone who is signed in: answers have only what their view has. */
  | 'view'
  /** The right to see and change everything. */
  | 'whole';

/** Whether they may act on an account: all its Pools are theirs. */
export const mayChangeAccount = (asker: Asker, id: string): boolean => asker.view().ownsAccount(id);

/** The Pools that they may change; undefined: all, also those that the file has meanwhile. */
export const ownedPools = (asker: Asker): readonly string[] | undefined => {
  const view = asker.view();
  return view.isWhole ? undefined : view.pools.filter((pool) => view.isOwned(pool)).map(({ id }) => id);
};

/** Whether they may change keys and modes of a Pool. */
export const mayChangePool = (asker: Asker, id: string): boolean => {
  const view = asker.view();
  return view.isWhole || view.isOwned({ id });
};
