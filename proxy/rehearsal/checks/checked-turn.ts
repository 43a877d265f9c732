// A turn as a simulated account checks it: its body and headers, and the account, catalog and websocket that they are judged by.
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
  /** A compact request needs neither reasoning nor streaming (F1.4), and its Lite form is not checked (F2.15). */
  readonly isCompact: boolean;
  /** The responses of the websocket that the frame came on. */
  readonly anchors?: Anchors;
}

export const isFrame = ({ anchors }: CheckedTurn): boolean => anchors !== undefined;
