// Ports that stay free while nothing of the test listens there.
import { createServer } from 'node:net';

/** Ports that the system assigns to no process by itself: those of its own choice lie above 32768 on Linux, above 49152 elsewhere. */
const PORTS = { first: 10_000, count: 20_000, perProcess: 16 };

let handedOut = 0;

/**
 * A free port that stays free while the program is down: commands find the running gateway by the one in its file. A port
 * of the system's choice would do for a moment only, since any connection that another test makes may be given it next.
 */
export async function portOfOurs(): Promise<number> {
  for (;;) {
    const port = PORTS.first + ((process.pid * PORTS.perProcess + handedOut++) % PORTS.count);
    const server = createServer().listen(port, '127.0.0.1');
    const free = await new Promise((resolve) => server.once('listening', () => resolve(true)).once('error', () => resolve(false)));
    if (free) {
      await new Promise((resolve) => server.close(resolve));
      return port;
    }
  }
}
