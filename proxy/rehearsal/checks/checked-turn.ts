// A turn that a simulated account checks: its body and headers, and the account, catalog and websocket that the checks depend on.
import type { IncomingHttpHeaders } from 'node:http';
import type { JsonObject } from '../../turn/json/json.ts';
import type { WireWords } from '../../turn/settings.ts';
import type { SimulatedAccount } from '../account/simulated-account.ts';
import type { Anchors } from '../model/turn-request.ts';

export interface CheckedTurn {
  readonly body: JsonObject;
  readonly headers: IncomingHttpHeaders;
  readonly account: SimulatedAccount;
  readonly slugs: ReadonlySet<string>;
  readonly wire: WireWords;
  /** Whether it is a compact request, which needs no reasoning and no streaming (F1.4). Its Lite form is not checked (F2.15). */
  readonly isCompact: boolean;
  /** The responses of the websocket on which the frame came. */
  readonly anchors?: Anchors;
}

export const isFrame = ({ anchors }: CheckedTurn): boolean => anchors !== undefined;
