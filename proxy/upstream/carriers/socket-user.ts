// The user of an account's websocket: one turn at a time, or the reader of the frames between two responses.
import type { IncomingMessage } from 'node:http';
import type { CarrierFailure } from '../../turn/errors/failure.ts';
import type { HeldBytes } from '../../turn/reply/held-bytes.ts';

export interface SocketUser {
  /** The bytes of a frame that has not arrived whole count here. */
  readonly memory: Pick<HeldBytes, 'hold' | 'release'>;
  /** The former user, whose further frames this one reads too; absent if no turn waits for them. */
  readonly follows?: SocketUser | undefined;
  /** The account accepted the upgrade. */
  opened(): void;
  /** The account answered the upgrade with a status. The response is read by the user, or destroyed. */
  refused(response: IncomingMessage): void;
  frame(bytes: Buffer): void;
  /** The connection ended, at whichever side. */
  ended(failure: CarrierFailure): void;
}
