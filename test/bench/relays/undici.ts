// The best possible result in Node: a relay on undici's dispatch without rules. Its argument is the port of the upstream.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Dispatcher, Pool } from 'undici';

const pool = new Pool(`http://127.0.0.1:${process.argv[2]}`, { connections: null, bodyTimeout: 0 });
const HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'host']);

const forwarded = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP.has(name)));

function relay(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
  let controller: Dispatcher.DispatchController | undefined;
  response.once('close', () => response.writableFinished || controller?.abort(new Error('client gone')));
  const { method = 'GET', url: path = '/', headers } = request;
  pool.dispatch(
    { method: method as Dispatcher.HttpMethod, path, headers: forwarded(headers), body: body.length > 0 ? body : null },
    {
      onRequestStart(started) {
        controller = started;
      },
      onResponseStart(_controller, status, answered) {
        response.writeHead(status, forwarded(answered as IncomingHttpHeaders));
      },
      onResponseData(reading, chunk) {
        if (response.write(chunk)) return;
        reading.pause();
        response.once('drain', () => reading.resume());
      },
      onResponseEnd() {
        response.end();
      },
      onResponseError() {
        response.destroy();
      },
    },
  );
}

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part)).once('end', () => relay(request, response, Buffer.concat(parts)));
});
server.listen(0, '127.0.0.1', () => console.log(`ready ${(server.address() as AddressInfo).port}`));
