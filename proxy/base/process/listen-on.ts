// Binds a server to its address, and reports the address or the reason of the failure.
import type { AddressInfo, Server } from 'node:net';

/** Resolves with the address once connections are accepted. @throws Error where the address cannot be had */
export function listenOn(server: Server, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve(server.address() as AddressInfo);
    });
  });
}
