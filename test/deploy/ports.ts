// The ports that files of deploy/ name. A test that listens on them reports which port is already in use.
import { createServer } from 'node:net';

/** @throws Error if a port is in use */
export async function mustBeFree(ports: readonly number[], host = '0.0.0.0'): Promise<void> {
  for (const port of ports) {
    const fault = await new Promise<string | undefined>((resolve) => {
      const server = createServer().once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
      server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(undefined)));
    });
    if (fault !== undefined) {
      throw new Error(
        `port ${port} of ${host} is in use (${fault}): this test runs files of deploy/ with their own ports; end the program that has it`,
      );
    }
  }
}
