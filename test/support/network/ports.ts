// Ports that stay free while nothing of the test listens on them.
import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';

/** Ports that the system does not assign by itself. It assigns ports above 32768 on Linux, and above 49152 elsewhere. */
const PORTS = { first: 10_000, count: 20_000, perProcess: 16 };

let handedOut = 0;

/**
 * A port that stays free while the program is down. Commands find the running gateway by the port in its file. A port that the system chose
 * could be assigned to any other connection of a test.
 */
export async function portOfOurs(): Promise<number> {
  for (;;) {
    const port = PORTS.first + ((process.pid * PORTS.perProcess + handedOut++) % PORTS.count);
    if ((await isReserved(port)) && (await isFree(port))) return port;
  }
}

/** Reserves the port among all processes of tests, until this one ends: it takes the UDP port of the same number, which is of no other use. */
function isReserved(port: number): Promise<boolean> {
  const socket = createSocket('udp4').unref();
  return new Promise((resolve) => {
    socket.once('listening', () => resolve(true)).once('error', () => resolve(false));
    socket.bind({ port, address: '127.0.0.1', exclusive: true });
  });
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  const isListening = await new Promise<boolean>((resolve) => {
    server.once('listening', () => resolve(true)).once('error', () => resolve(false));
  });
  if (isListening) await new Promise((resolve) => server.close(resolve));
  return isListening;
}
