// The recording relay. It passes a client's requests to one account unchanged, and copies of all bytes to the recording.
import { createServer, request as httpRequest, type IncomingMessage, type Server, ServerResponse } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { listenOn } from '../base/process/listen-on.ts';
import { BodyRecorder } from './body-recorder.ts';
import type { Exchange, ExchangeEnd, RecordedAnswer, RecordedRequest } from './fixture.ts';
import { redactedHeaders, redactedPath } from './head-redaction.ts';
import type { Recording } from './recording.ts';
import { recordSocket } from './socket-recorder.ts';
import { coarse } from './timing.ts';

/** The longest time for connecting to the account. */
const CONNECT_MS = 10_000;
const LOOPBACK = '127.0.0.1';

export interface RelayOptions {
  /** The account's base URL, to which the paths of requests are appended. */
  readonly to: URL;
  readonly recording: Recording;
  /** The port. Default: a free one. */
  readonly port?: number;
}

export class RecordingRelay {
  readonly url: string;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;
  readonly #running: Set<Promise<void>>;

  private constructor(server: Server, port: number, { sockets, running }: { sockets: Set<Socket>; running: Set<Promise<void>> }) {
    this.#server = server;
    this.#sockets = sockets;
    this.#running = running;
    this.url = `http://${LOOPBACK}:${port}`;
  }

  /** Listens only on loopback, because what reaches the relay is sent on with the client's credential. */
  static async start(options: RelayOptions): Promise<RecordingRelay> {
    const server = createServer({ requestTimeout: 0 });
    const sockets = new Set<Socket>();
    const running = new Set<Promise<void>>();
    const run = (work: Promise<void>): void => {
      running.add(work);
      void work.finally(() => running.delete(work));
    };
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    server.on('request', (request, response) => run(new Relayed(options, request).answer(response)));
    server.on('upgrade', (request, socket, head) => run(new Relayed(options, request).upgrade(socket as Socket, head)));
    const { port } = await listenOn(server, LOOPBACK, options.port ?? 0);
    return new RecordingRelay(server, port, { sockets, running });
  }

  /** Ends all connections. Resolves when their exchanges are in the file. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all([closed, ...this.#running]);
  }
}

/** One request that is relayed. */
class Relayed {
  readonly #recording: Recording;
  readonly #to: URL;
  readonly #request: IncomingMessage;
  readonly #save: ReturnType<Recording['begin']>;
  readonly #body: BodyRecorder;
  #sentAt: number;

  constructor({ to, recording }: RelayOptions, request: IncomingMessage) {
    this.#recording = recording;
    this.#to = to;
    this.#request = request;
    this.#save = recording.begin();
    this.#body = this.#bodyOf(request);
    this.#sentAt = recording.now();
  }

  async answer(response: ServerResponse): Promise<void> {
    const sending = this.#send();
    response.once('close', () => sending.destroy());
    // An account may answer before it has received the whole request.
    void pipeline(this.#request, this.#tap(this.#body), sending)
      .catch(() => undefined)
      .finally(() => {
        this.#sentAt = this.#recording.now();
      });
    const answer = await this.#answerOf(sending);
    if (answer === undefined) {
      const end = response.destroyed ? 'left' : 'unreachable';
      if (!response.destroyed) response.writeHead(502).end();
      return this.#keep({ end });
    }
    await this.#relayAnswer(answer, response);
  }

  async upgrade(client: Socket, head: Buffer): Promise<void> {
    client.on('error', () => undefined);
    const sending = this.#send();
    client.once('close', () => sending.destroy());
    sending.end();
    const switched = new Promise<readonly [IncomingMessage, Socket, Buffer]>((resolve) => {
      sending.once('upgrade', (answer, account: Socket, first) => resolve([answer, account, first]));
    });
    const answer = await Promise.race([switched, this.#answerOf(sending)]);
    if (answer === undefined) {
      client.destroy();
      return this.#keep({ end: 'unreachable' });
    }
    if (!isSwitched(answer)) {
      const response = new ServerResponse(this.#request);
      response.assignSocket(client);
      response.shouldKeepAlive = false;
      response.once('finish', () => client.end());
      return this.#relayAnswer(answer, response);
    }
    const [switching, account, first] = answer;
    client.write(headOf(switching));
    const { redactor, now } = this.#recording;
    const extensions = switching.headers['sec-websocket-extensions'];
    const { frames, end } = await recordSocket({ client, account, early: { client: head, account: first }, extensions, redactor, now });
    await this.#keep({ answer: this.#answerHead(switching), frames, end });
  }

  #send(): ReturnType<typeof httpRequest> {
    const { method, url = '/', rawHeaders } = this.#request;
    const { protocol, hostname, port, host, pathname } = this.#to;
    const send = protocol === 'https:' ? httpsRequest : httpRequest;
    const headers = rawHeaders.map((value, i) => (i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === 'host' ? host : value));
    const path = pathname.replace(/\/$/, '') + url;
    // The types allow only pairs, but Node accepts the raw list and keeps its order and spelling.
    const options = { method, hostname, port, path, headers: headers as never, setHost: false, agent: false as const };
    const sending = send(options);
    sending.once('socket', (socket) => {
      const timer = setTimeout(() => sending.destroy(new Error('no connection')), CONNECT_MS);
      socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', () => clearTimeout(timer));
      socket.once('close', () => clearTimeout(timer));
    });
    return sending;
  }

  #answerOf(sending: ReturnType<typeof httpRequest>): Promise<IncomingMessage | undefined> {
    return new Promise((resolve) => {
      sending.once('response', resolve);
      sending.on('error', () => resolve(undefined));
      sending.once('close', () => resolve(undefined));
    });
  }

  async #relayAnswer(answer: IncomingMessage, response: ServerResponse): Promise<void> {
    const head = this.#answerHead(answer);
    response.sendDate = false;
    response.writeHead(answer.statusCode ?? 502, answer.statusMessage, answer.rawHeaders);
    response.flushHeaders();
    const body = this.#bodyOf(answer);
    let cut = false;
    answer.once('aborted', () => {
      cut = true;
    });
    const end = await pipeline(answer, this.#tap(body), response).then(
      (): ExchangeEnd => 'complete',
      (): ExchangeEnd => (cut ? 'cut' : 'left'),
    );
    const recorded = await body.end();
    await this.#keep({ answer: { ...head, ...(recorded && { body: recorded }) }, end });
  }

  #answerHead({ statusCode = 0, rawHeaders }: IncomingMessage): RecordedAnswer {
    const after_ms = coarse(this.#recording.now() - this.#sentAt);
    return { after_ms, status: statusCode, headers: redactedHeaders(rawHeaders, this.#recording.redactor) };
  }

  #bodyOf({ headers }: IncomingMessage): BodyRecorder {
    const { redactor, now } = this.#recording;
    return new BodyRecorder({ contentType: headers['content-type'], contentEncoding: headers['content-encoding'], redactor, now });
  }

  #tap(body: BodyRecorder): PassThrough {
    const through = new PassThrough();
    if (this.#save) through.on('data', (chunk: Buffer) => body.push(chunk));
    return through;
  }

  async #keep(exchange: Pick<Exchange, 'answer' | 'frames' | 'end'>): Promise<void> {
    const body = await this.#body.end();
    const { method = '', url = '/', rawHeaders, headers } = this.#request;
    const { redactor } = this.#recording;
    const request: RecordedRequest = {
      method: headers.upgrade?.toLowerCase() === 'websocket' ? 'WS' : method,
      path: redactedPath(url, redactor),
      headers: redactedHeaders(rawHeaders, redactor),
      ...(body && { body }),
    };
    await this.#save?.({ request, ...exchange });
  }
}

const isSwitched = (
  answer: IncomingMessage | readonly [IncomingMessage, Socket, Buffer],
): answer is readonly [IncomingMessage, Socket, Buffer] => Array.isArray(answer);

/** The head of an answer that switches protocols, as the account sent it. */
function headOf({ rawHeaders }: IncomingMessage): string {
  const lines = rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${rawHeaders[i + 1]}`] : []));
  return `HTTP/1.1 101 Switching Protocols\r\n${lines.join('\r\n')}\r\n\r\n`;
}
