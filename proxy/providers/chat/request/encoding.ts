// What the parts of one translation share: the account, its model, and the names of what was adapted.
import type { LiveTurn } from '../../../turn/live-turn.ts';
import type { AccountModel } from '../../../turn/provider/account-model.ts';
import type { Adaptations } from '../../../turn/provider/adapted.ts';
import type { Quirks } from '../../../turn/provider/quirks.ts';
import type { ToolTable } from '../../api-accounts/tools/tool-table.ts';

export interface ChatEncoding {
  readonly turn: Pick<LiveTurn, 'openCapsule'>;
  readonly quirks: Quirks;
  /** Undefined if nothing is known of the model. */
  readonly model: AccountModel | undefined;
  /** The account's own id of the model. */
  readonly ownId: string;
  readonly tools: ToolTable;
  readonly adapted: Adaptations;
}
