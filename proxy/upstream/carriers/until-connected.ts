// A request body that is not read before its connection is established. If no connection is made, a body that can be sent only once is
// still complete.
import type { ClientRequest } from 'node:http';
import { type Readable, Stream } from 'node:stream';
import { isHandshaking } from '../../base/process/node-internals.ts';

/** http-proxy-3 pipes its `buffer` into the request as soon as the request exists. */
export class UntilConnected extends Stream {
  readonly #body: Readable;

  constructor(body: Readable) {
    super();
    this.#body = body;
  }

  override pipe<Destination extends NodeJS.WritableStream>(request: Destination): Destination {
    const begin = (): void => void this.#body.pipe(request);
    (request as unknown as ClientRequest).once('socket', (socket) => {
      if (socket.connecting) socket.once(isHandshaking(socket) ? 'secureConnect' : 'connect', begin);
      else if (isHandshaking(socket)) socket.once('secureConnect', begin);
      else begin();
    });
    return request;
  }
}
