// An HTTP server that makes a sink of the product for every request, so that writes of dispatch go over a real socket.
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SseSink } from '../../proxy/clients/http/replies/sse-sink.ts';
import type { Sink } from '../../proxy/turn/reply/sink.ts';
import { headOf, RawClient } from './raw.ts';

export interface SinkClient {
  readonly sink: Sink;
  readonly response: ServerResponse;
  /** The client at the other end of the socket. */
  readonly client: RawClient;
  /** Ends the client. Resolves when the server has noticed. */
  die(): Promise<void>;
}

export class SinkServer implements AsyncDisposable {
  readonly #server: Server;
  readonly #responses: ServerResponse[] = [];
  #arrived = Promise.withResolvers<void>();

  private constructor() {
    this.#server = createServer((_request, response) => {
      this.#responses.push(response);
      this.#arrived.resolve();
      this.#arrived = Promise.withResolvers();
    });
  }

  static async start(): Promise<SinkServer> {
    const started = new SinkServer();
    started.#server.listen(0, '127.0.0.1');
    await once(started.#server, 'listening');
    return started;
  }

  /** A client that has sent its request. */
  async connect(sinkOf: (response: ServerResponse) => Sink = (response) => new SseSink(response)): Promise<SinkClient> {
    const arrived = this.#arrived.promise;
    const client = await RawClient.connect(`http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`);
    client.write(headOf('GET', '/'));
    await arrived;
    const response = this.#responses.at(-1) as ServerResponse;
    const die = async (): Promise<void> => {
      const closed = once(response, 'close');
      client.socket.destroy();
      await closed;
    };
    return { sink: sinkOf(response), response, client, die };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
