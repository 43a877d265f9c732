// Websocket clients that act like native ones: each has its session, and each turn continues the last response. Prints `steady` when each
// connection has had a turn. A line N on its input starts N seconds of turns, and is answered with a report. client PORT PATH KEY
// CONNECTIONS
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { requestOf } from '../wire.ts';
import type { TurnReport } from './clients.ts';

const [port, path = '', key = '', connections] = process.argv.slice(2);
/** The number of connections that open at the same time. */
const OPENING = 50;

class Client {
  readonly #socket: WebSocket;
  readonly #frame: string;
  #turns = 0;
  #anchor = '';
  #ended: (ended: boolean) => void = () => undefined;

  constructor(session: string) {
    const { headers, body } = requestOf({ path, key, session });
    const { 'content-type': _, accept: __, ...upgrade } = headers;
    this.#socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers: upgrade, perMessageDeflate: false });
    this.#frame = JSON.stringify({
      type: 'response.create',
      ...(JSON.parse(body) as object),
      stream: true,
      previous_response_id: '#',
      client_metadata: { turn_id: '?' },
    });
    this.#socket.on('message', (data: Buffer) => this.#take(data.toString()));
    this.#socket.on('close', () => this.#ended(false));
    this.#socket.on('error', () => this.#ended(false));
  }

  open(): Promise<void> {
    return new Promise((resolve, reject) => this.#socket.once('open', resolve).once('error', reject));
  }

  /** Resolves with whether the turn was completed. */
  turn(): Promise<boolean> {
    const anchor = this.#anchor === '' ? 'null' : `"${this.#anchor}"`;
    this.#turns += 1;
    this.#socket.send(this.#frame.replace('"#"', anchor).replace('"?"', `"turn-${this.#turns}"`));
    return new Promise((resolve) => {
      this.#ended = resolve;
    });
  }

  #take(frame: string): void {
    const isError = frame.startsWith('{"type":"error"');
    if (!isError && !frame.includes('"response.completed"')) return;
    this.#anchor = /"id":"(resp_\d+)"/.exec(frame)?.[1] ?? '';
    this.#ended(!isError);
  }
}

const sessions = Array.from({ length: Number(connections) }, (_, i) => `session-${i}`);
const open: Client[] = [];

async function opened(): Promise<void> {
  for (let session = sessions.pop(); session !== undefined; session = sessions.pop()) {
    const client = new Client(session);
    await client.open();
    if (!(await client.turn())) throw new Error('the first turn of a connection failed');
    open.push(client);
  }
}

async function turns(seconds: number): Promise<TurnReport> {
  let completed = 0;
  let failed = 0;
  let isOver = false;
  const running = open.map(async (client) => {
    while (!isOver) {
      if (await client.turn()) completed += 1;
      else {
        failed += 1;
        return;
      }
    }
  });
  await sleep(seconds * 1_000);
  isOver = true;
  await Promise.all(running);
  return { completed, failed };
}

await Promise.all(Array.from({ length: OPENING }, opened));
console.log('steady');
for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(await turns(Number(line))));
process.exit();
