// Binds a server to an address, and reports the address or the reason of the failure.
import { lstat, unlink } from 'node:fs/promises';
import { type AddressInfo, connect, type Server } from 'node:net';

/** Resolves with the address when connections are accepted. @throws Error if the address cannot be used */
export async function listenOn(server: Server, host: string, port: number): Promise<AddressInfo> {
  await bound(server, () => server.listen(port, host));
  return server.address() as AddressInfo;
}

/**
 * Resolves when connections are accepted at this path. A socket that a killed process left there is replaced, any other file is left alone.
 * @param mode the mode of the socket, which it has from the beginning
 * @throws Error if the path cannot be used, such as EADDRINUSE if another process listens there
 */
export async function listenAt(server: Server, path: string, mode: number): Promise<void> {
  const listen = (): Promise<void> =>
    bound(server, () => {
      const before = process.umask(0o777 & ~mode);
      // The path is bound when this call returns.
      server.listen({ path });
      process.umask(before);
    });
  try {
    await listen();
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw thrown;
    // A connection to a file that is no socket is refused too.
    const found = await lstat(path).catch(() => undefined);
    if (found && !found.isSocket()) throw Object.assign(thrown as Error, { message: `${path} exists and is not a socket` });
    if (await answers(path)) throw thrown;
    await unlink(path);
    await listen();
  }
}

function bound(server: Server, listen: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.once('listening', () => {
      server.off('error', reject);
      resolve();
    });
    listen();
  });
}

/** Whether a process listens at the path. Only a refused connection shows that none does. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'ECONNREFUSED'));
  });
}
