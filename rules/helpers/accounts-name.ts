// The account's own name for a model, if it calls it otherwise than its exposed id.
import type { AccountView } from '../../proxy/turn/turn.ts';

/** An id is a catalog's text and may be the name of an inherited member, such as `constructor`. */
export const accountsName = ({ models }: AccountView, id: string): string | undefined =>
  Object.hasOwn(models, id) ? models[id] : undefined;
