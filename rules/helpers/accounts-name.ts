// The account's own name for a model, if it differs from the exposed id.
import type { AccountView } from '../../proxy/turn/turn.ts';

/** Looks only at own members, because an id is a catalog's text and may be the name of an inherited member, such as `constructor`. */
export const accountsName = ({ models }: AccountView, id: string): string | undefined =>
  Object.hasOwn(models, id) ? models[id] : undefined;
