// The client websockets: their upgrades, a turn for each of their frames, and their end with the configuration or the process (Q28).
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import type { ClientConnection } from '../clients/http/client-connection.ts';
import { connectionOf } from '../clients/http/client-connection.ts';
import { endRaw } from '../clients/http/raw-refusal.ts';
import type { BodyGuard } from '../clients/http/request-body.ts';
import { type BrokenLimit, CLOSE, type Frame, WebsocketConnection } from '../clients/websocket/connection.ts';
import { FrameClient } from '../clients/websocket/frame-client.ts';
import { ResumableClient } from '../clients/websocket/resumable-client.ts';
import type { Clock } from '../clock.ts';
import type { KeyedDigest } from '../encryption/digest.ts';
import type { Heartbeat } from '../heartbeat.ts';
import type { Counters } from '../metrics.ts';
import { ResumableTurns } from '../sessions/resumable-turns.ts';
import { sessionOf } from '../sessions/session.ts';
import { identityOf, type TurnIdentity } from '../sessions/turn-identity.ts';
import { clientHeaders } from '../turn/headers.ts';
import { LiveTurn, type TurnHost } from '../turn/live-turn.ts';
import { Refusal, refusalOf, upgradeRequired } from '../turn/refusal.ts';
import { type Match, NO_ROUTE } from '../turn/route-table.ts';
import { isServed } from '../turn/served.ts';
import type { PoolConfig } from '../turn/settings.ts';
import type { Headers } from '../turn/turn.ts';
import type { Generation } from './generation.ts';
import type { RunningTurns } from './running-turns.ts';
import type { TurnRunner } from './turn-runner.ts';

export interface WebsocketsOptions {
  readonly generation: () => Generation;
  readonly host: TurnHost;
  readonly runner: TurnRunner;
  readonly clock: Clock;
  readonly counters: Counters;
  readonly heartbeat: Heartbeat;
  /** Of what identifies a turn. */
  readonly digest: KeyedDigest;
  readonly guard: BodyGuard;
  readonly running: RunningTurns;
  /** Headers of the gateway's own on the answer to an upgrade. */
  readonly ownHeaders: (turn: LiveTurn) => Readonly<Record<string, string>>;
  /** Whether an account of the Pool speaks websocket. */
  readonly speaks: (pool: PoolConfig, generation: Generation) => boolean;
}

/** A turn that a client may come back for, and its session with its key. */
interface Identified {
  readonly session: string;
  readonly identity: TurnIdentity;
}

/** What a connection asked for with its upgrade: each of its turns begins with it. */
interface Upgrade {
  readonly path: string;
  readonly query: string;
  readonly headers: Headers;
  readonly client: ClientConnection;
  readonly turn: LiveTurn;
  /** Its last turn, for a client that has not seen the end. */
  last?: ResumableClient;
}

const UNUSABLE_KEY = 'the key cannot be used any more';

/** Whether the request asks for a websocket; a server ignores all other upgrades. */
export const asksForWebsocket = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';

export class Websockets {
  readonly #options: WebsocketsOptions;
  readonly #open = new Map<WebsocketConnection, Upgrade>();
  readonly #turns: ResumableTurns<ResumableClient>;
  #draining = false;

  constructor(options: WebsocketsOptions) {
    this.#options = options;
    this.#turns = new ResumableTurns(options.clock);
  }

  get count(): number {
    return this.#open.size;
  }

  /** Bytes that clients have not taken yet, and those that are kept for clients that may come back. */
  get heldBytes(): number {
    let bytes = this.#turns.keptBytes;
    for (const connection of this.#open.keys()) bytes += connection.heldBytes;
    return bytes;
  }

  /** Accepts an upgrade, or answers it with a refusal and ends the connection. */
  accept(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const { generation: current, runner } = this.#options;
    const generation = current();
    const { path, query } = targetOf(request);
    const found = generation.routes.find('WS', path);
    const match: Match = found && 'route' in found ? found : { route: NO_ROUTE, params: {} };
    const arrival = { path, query, headers: clientHeaders(request.headers), client: connectionOf(socket) };
    const turn = this.#turn(arrival, match, generation);
    try {
      turn.rules.admit();
      if (this.#draining) throw new Refusal('server_is_overloaded');
      const { kind, method } = match.route;
      if (!isServed(kind, method) || !this.#options.speaks(turn.pool, generation)) {
        throw upgradeRequired();
      }
      this.#upgrade(request, socket, head, { ...arrival, turn });
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) turn.fault(thrown);
      const refusal = refusalOf(thrown);
      runner.recordRefused(turn, refusal);
      endRaw(socket, refusal, turn.id);
    }
  }

  /** A connection whose key may no longer be used ends when its running turn has ended. */
  configure(): void {
    const generation = this.#options.generation();
    for (const [connection, upgrade] of this.#open) {
      if (!this.#isAdmitted(upgrade, generation)) connection.closeAfterTurn(CLOSE.policy, UNUSABLE_KEY);
    }
  }

  /** Refuses new turns; a connection ends when its running turn has ended. */
  drain(): void {
    this.#draining = true;
    for (const connection of this.#open.keys()) connection.closeAfterTurn(CLOSE.goingAway, 'the gateway stops');
  }

  /** Ends all connections at once. */
  destroy(): void {
    for (const connection of this.#open.keys()) connection.terminate();
  }

  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer, upgrade: Upgrade): void {
    const { turn } = upgrade;
    const { request_body_bytes: maxPayload } = turn.limits;
    const server = new WebSocketServer({ noServer: true, clientTracking: false, perMessageDeflate: false, maxPayload });
    server.on('headers', (lines) => {
      for (const [name, value] of Object.entries(this.#options.ownHeaders(turn))) lines.push(`${name}: ${value}`);
    });
    // Without a listener ws would answer in plain text.
    server.on('wsClientError', () => {
      const refusal = new Refusal('invalid_request', { message: 'The websocket handshake is not valid.' });
      this.#options.runner.recordRefused(turn, refusal);
      endRaw(socket, refusal, turn.id);
    });
    server.handleUpgrade(request, socket, head, (ws) => this.#accepted(ws, socket, upgrade));
  }

  #accepted(ws: WebSocket, socket: Socket, upgrade: Upgrade): void {
    const { clock, counters, guard, heartbeat } = this.#options;
    const { limits, timeouts } = upgrade.turn;
    counters.add('websockets_accepted');
    heartbeat.watch(ws);
    const connection = new WebsocketConnection({
      ws,
      socket,
      idleMs: timeouts.websocket_idle_timeout_ms,
      limits,
      clock,
      counters,
      guard,
      serve: (frame, from) => this.#serve(frame, from, upgrade),
      refuse: (refusal, from) => this.#refuse(refusal, from, upgrade),
      limitBroken: (limit) => this.#limitBroken(limit, upgrade),
    });
    this.#open.set(connection, upgrade);
    ws.once('close', () => this.#open.delete(connection));
  }

  async #serve(frame: Frame, connection: WebsocketConnection, upgrade: Upgrade): Promise<void> {
    const { generation: current, runner, running, counters } = this.#options;
    const generation = current();
    const turn = this.#frameTurn(upgrade, generation);
    if (!turn || this.#draining) {
      counters.add('drain_refused');
      this.#refuse(new Refusal(turn ? 'server_is_overloaded' : 'unknown_endpoint'), connection, upgrade);
      return;
    }
    upgrade.last?.acknowledged();
    delete upgrade.last;
    const resumable = this.#resumable(turn, frame);
    const found = resumable && !(frame instanceof Refusal) && this.#turns.find(resumable.session, resumable.identity, frame);
    if (found) {
      upgrade.last = found.turn;
      await found.turn.attach(connection, found.items);
      return;
    }
    const replaced = resumable ? await this.#turns.replace(resumable.session) : 0;
    for (let i = 0; i < replaced; i++) counters.add('turns_replaced');
    // The client left while the turns that it replaced ended.
    if (!connection.isOpen) return;
    const client = resumable ? this.#resumableClient(turn, frame, connection, resumable) : new FrameClient(turn, frame, connection);
    if (client instanceof ResumableClient) upgrade.last = client;
    running.begin();
    await runner.run(turn, client, running.end);
    client.ended();
    const expires = turn.identity?.key.expires_at;
    if (!turn.identity || (expires !== undefined && turn.now() >= expires)) connection.closeAfterTurn(CLOSE.policy, UNUSABLE_KEY);
  }

  /** What identifies the turn to a client that comes back for it; undefined where none can. */
  #resumable(turn: LiveTurn, frame: Frame): Identified | undefined {
    if (frame instanceof Refusal || !turn.surface.agentProtocol) return undefined;
    const session = sessionOf(turn.headers, turn.wire);
    const identity = session === undefined ? undefined : identityOf(frame, this.#options.digest);
    if (session === undefined || !identity) return undefined;
    try {
      turn.rules.admit();
      return { session: `${turn.key.id}\n${session}`, identity };
    } catch {
      // The run of the turn refuses it.
      return undefined;
    }
  }

  #resumableClient(turn: LiveTurn, frame: Frame, connection: WebsocketConnection, { session, identity }: Identified): ResumableClient {
    const { clock, counters } = this.#options;
    const client = new ResumableClient(turn, frame, connection, {
      identity,
      windowMs: turn.timeouts.websocket_resume_ms,
      maxBytes: turn.limits.websocket_resume_bytes,
      clock,
      counters,
      forget: (forgotten) => this.#turns.remove(session, forgotten),
    });
    this.#turns.add(session, client);
    return client;
  }

  #refuse(refusal: Refusal, connection: WebsocketConnection, upgrade: Upgrade): void {
    const generation = this.#options.generation();
    const turn = this.#frameTurn(upgrade, generation) ?? upgrade.turn;
    try {
      turn.rules.admit();
    } catch {
      // The row has no key then.
    }
    const client = new FrameClient(turn, refusal, connection);
    this.#options.runner.refuse(turn, client, refusal);
    client.ended();
  }

  /** Leaves a row for a connection that one of its limits ended (RM4). */
  #limitBroken(limit: BrokenLimit, { turn }: Upgrade): void {
    turn.note('reason_class', limit === 'idle' ? 'timeout' : 'max_frame_size_exceeded');
    this.#options.runner.recordRefused(turn, new Refusal(limit === 'idle' ? 'request_timeout' : 'request_too_large'));
  }

  /** A turn in the configuration of now; undefined where that has no such row any more. */
  #frameTurn(upgrade: Upgrade, generation: Generation): LiveTurn | undefined {
    const found = generation.routes.find('WS', upgrade.path);
    return found && 'route' in found ? this.#turn(upgrade, found, generation) : undefined;
  }

  #turn({ query, headers, client }: Omit<Upgrade, 'turn'>, { route, params }: Match, generation: Generation): LiveTurn {
    const keyOf = (secret: string): ReturnType<Generation['keyOf']> => client.keyOf(secret, generation);
    return new LiveTurn({ route, params, client: 'websocket', method: 'WS', headers, query, keyOf }, generation, this.#options.host);
  }

  #isAdmitted(upgrade: Upgrade, generation: Generation): boolean {
    try {
      const turn = this.#frameTurn(upgrade, generation);
      turn?.rules.admit();
      return turn !== undefined;
    } catch {
      return false;
    }
  }
}

export function targetOf({ url = '' }: IncomingMessage): { readonly path: string; readonly query: string } {
  const at = url.indexOf('?');
  return at === -1 ? { path: url, query: '' } : { path: url.slice(0, at), query: url.slice(at) };
}
