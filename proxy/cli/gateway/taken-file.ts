// Makes the gateway that runs on a file take what a command has written there, so that the command can report a refusal.
import type { Io } from '../command.ts';
import { adminIn } from './address.ts';
import { GatewayRefused } from './ask.ts';
import { requestReload } from './calls.ts';

/**
 * Changes nothing if no gateway runs on the file, or if the operator may not reload it: a gateway reads a saved file by itself.
 * @throws {GatewayRefused} with the errors that the gateway finds, such as a variable that is not in its environment
 */
export async function takenFile(path: string, io: Io): Promise<void> {
  try {
    await requestReload(await adminIn(path, io));
  } catch (thrown) {
    if (thrown instanceof GatewayRefused && thrown.code === 'invalid_configuration') throw thrown;
  }
}
