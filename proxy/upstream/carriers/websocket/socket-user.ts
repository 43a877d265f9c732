// The user of an account's websocket: a turn, or the reader of the frames between two responses.
import type { IncomingMessage } from 'node:http';
import type { CarrierFailure } from '../../../turn/errors/failure.ts';
import type { HeldBytes } from '../../../turn/reply/held-bytes.ts';

export interface SocketUser {
  /** Counts the bytes of a frame that has not arrived completely. */
  readonly memory: Pick<HeldBytes, 'hold' | 'release'>;
  /** The previous user, whose further frames this user also reads; absent if no turn waits for them. */
  readonly follows?: SocketUser | undefined;
  /** Called when the account has accepted the upgrade. */
  opened(): void;
  /** Called when the account has answered the upgrade with a status. The user reads the response or destroys it. */
  refused(response: IncomingMessage): void;
  frame(bytes: Buffer): void;
  /** Called when the connection has ended, at either side. */
  ended(failure: CarrierFailure): void;
}
