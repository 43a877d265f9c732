// The client websockets: their upgrades, a turn for each of their frames, and their end with the configuration or the process (Q28).
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import type { OverloadGuard } from '../admission/overload-guard.ts';
import type { Batches } from '../batch.ts';
import { connectionOf } from '../clients/http/client-connection.ts';
import { endRaw } from '../clients/http/raw-refusal.ts';
import { type BrokenLimit, CLOSE, type Frame, WebsocketConnection } from '../clients/websocket/connection.ts';
import type { Heartbeat } from '../heartbeat.ts';
import type { MemoryGuard } from '../memory-guard.ts';
import type { Hop, HopRefusal } from '../nodes/hop-listener.ts';
import { clientHeaders } from '../turn/headers.ts';
import { LiveTurn, type TurnHost } from '../turn/live-turn.ts';
import { Refusal, refusalOf, upgradeRequired } from '../turn/refusal.ts';
import { type Match, NO_ROUTE } from '../turn/route-table.ts';
import type { PoolConfig } from '../turn/settings.ts';
import type { ModeDecision } from '../turn/turn.ts';
import { FORWARDED_SIZE, type ForwardedArrival, forwardedArrival, readForwarded } from './forwarded-arrival.ts';
import { FrameTurns, type FrameTurnsOptions } from './frame-turns.ts';
import type { Generation } from './generation.ts';

export interface WebsocketsOptions extends FrameTurnsOptions {
  readonly generation: () => Generation;
  readonly host: TurnHost;
  readonly heartbeat: Heartbeat;
  readonly guard: MemoryGuard;
  readonly batches: Batches;
  readonly overload: OverloadGuard;
  /** Headers of the gateway's own on the answer to an upgrade. */
  readonly ownHeaders: (turn: LiveTurn) => Readonly<Record<string, string>>;
  /** Whether an account of the Pool speaks websocket. */
  readonly speaks: (pool: PoolConfig, generation: Generation) => boolean;
}

/** What a connection asked for with its upgrade: each of its turns begins with it. */
interface Upgrade extends ForwardedArrival {
  /** Of the answer that accepts it, where another node forwards the client. */
  readonly hop?: Hop['headers'];
  readonly turn: LiveTurn;
  /** Its row in the configuration of the last frame. */
  found?: { readonly generation: Generation; readonly match: Match | undefined };
}

/** A frame that gets no turn. */
interface Refused {
  readonly upgrade: Upgrade;
  readonly frame: Frame | undefined;
}

/** Why a connection takes no further turn. */
const UNUSABLE_KEY = 'the key cannot be used any more';
const NOT_SERVED = 'this endpoint is not served any more';

/** Whether the request asks for a websocket; a server ignores all other upgrades. */
export const asksForWebsocket = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';

export class Websockets {
  readonly #options: WebsocketsOptions;
  readonly #open = new Map<WebsocketConnection, Upgrade>();
  readonly #turns: FrameTurns;
  #draining = false;

  constructor(options: WebsocketsOptions) {
    this.#options = options;
    this.#turns = new FrameTurns(options);
  }

  get count(): number {
    return this.#open.size;
  }

  /** Bytes that clients have not taken yet, and those that are kept for clients that may come back. */
  get heldBytes(): number {
    let bytes = this.#turns.heldBytes;
    for (const connection of this.#open.keys()) bytes += connection.heldBytes;
    return bytes;
  }

  /** How many sessions are leased to this node. */
  get ownedSessions(): number {
    return this.#turns.ownedSessions;
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
      const overloaded = this.#options.overload.refusal(turn.at);
      if (overloaded) throw overloaded;
      if (!this.#options.speaks(turn.pool, generation)) throw upgradeRequired();
      this.#upgrade(request, socket, head, { ...arrival, turn });
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) turn.fault(thrown);
      const refusal = refusalOf(thrown);
      runner.recordRefused(turn, refusal);
      endRaw(socket, refusal, turn.id);
    }
  }

  /** Takes the websocket of a client that another node forwards, if it has business here; undefined where it does. */
  acceptForwarded({ client, request, socket, head, headers }: Hop): HopRefusal | undefined {
    if (this.#draining) return 503;
    const generation = this.#options.generation();
    const found = generation.routes.find('WS', client.path);
    if (!found || !('route' in found)) return 404;
    const arrival = forwardedArrival(client);
    const turn = this.#turn(arrival, found, generation);
    if (!this.#turns.takes(turn, client.turn_id) || turn.pool.id !== client.pool) return 404;
    this.#options.counters.add('websockets_taken_over');
    this.#upgrade(request, socket, head, { ...arrival, turn, hop: headers });
    return undefined;
  }

  /** A connection whose key or endpoint may no longer be used ends when its running turn has ended. */
  configure(): void {
    const generation = this.#options.generation();
    for (const [connection, upgrade] of this.#open) {
      const reason = this.#unusable(upgrade, generation);
      if (reason !== undefined) connection.closeAfterTurn(CLOSE.policy, reason);
    }
  }

  /** Refuses new turns; a connection ends when its running turn has ended. */
  drain(): void {
    this.#draining = true;
    this.#turns.drain();
    for (const connection of this.#open.keys()) connection.closeAfterTurn(CLOSE.goingAway, 'the gateway stops');
  }

  /** Gives up what other nodes know of this one: it has no turns any more. */
  stop(): Promise<void> {
    return this.#turns.stop();
  }

  /** Ends all connections at once. */
  destroy(): void {
    for (const connection of this.#open.keys()) connection.terminate();
  }

  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer, upgrade: Upgrade): void {
    const { hop, turn } = upgrade;
    const maxPayload = turn.limits.request_body_bytes * (hop ? FORWARDED_SIZE : 1);
    const server = new WebSocketServer({ noServer: true, clientTracking: false, perMessageDeflate: false, maxPayload });
    server.on('headers', (lines) => {
      for (const [name, value] of Object.entries(hop ?? this.#options.ownHeaders(turn))) lines.push(`${name}: ${value}`);
    });
    // Without a listener ws would answer in plain text.
    server.on('wsClientError', () => {
      // The header tells a client of another version which one is spoken here (RFC 6455, 4.2.2).
      const headers = { 'sec-websocket-version': '13' };
      const refusal = new Refusal('invalid_request', { message: 'The websocket handshake is not valid.', headers });
      this.#options.runner.recordRefused(turn, refusal);
      endRaw(socket, refusal, turn.id);
    });
    server.handleUpgrade(request, socket, head, (ws) => this.#accepted(ws, socket, upgrade));
  }

  #accepted(ws: WebSocket, socket: Socket, upgrade: Upgrade): void {
    const { batches, clock, counters, guard, heartbeat } = this.#options;
    const { limits, timeouts } = upgrade.turn;
    if (!upgrade.hop) counters.add('websockets_accepted');
    heartbeat.watch(ws);
    const connection = new WebsocketConnection({
      ws,
      socket,
      idleMs: timeouts.websocket_idle_timeout_ms,
      limits,
      clock,
      counters,
      guard,
      batches,
      read: upgrade.hop && readForwarded,
      serve: (frame, from) => this.#serve(frame, from, upgrade),
      refuse: (refusal, from, frame) => this.#refuse(refusal, from, { upgrade, frame }),
      limitBroken: (limit) => this.#limitBroken(limit, upgrade),
    });
    this.#open.set(connection, upgrade);
    ws.once('close', () => this.#open.delete(connection));
  }

  async #serve(frame: Frame, connection: WebsocketConnection, upgrade: Upgrade): Promise<void> {
    const turn = this.#frameTurn(upgrade, this.#options.generation(), frame);
    if (!turn || this.#draining) {
      this.#options.counters.add('drain_refused');
      this.#refuse(new Refusal(turn ? 'server_is_overloaded' : 'unknown_endpoint'), connection, { upgrade, frame });
      return;
    }
    if (this.#turns.isForwarded(connection)) this.#turns.pass(turn, frame, connection);
    else await this.#turns.serve(turn, frame, connection);
    const { identity } = turn;
    const expires = identity?.key.expires_at;
    // A turn that its client came back for was authenticated before it was looked for.
    if (!identity || (expires !== undefined && turn.now() >= expires)) connection.closeAfterTurn(CLOSE.policy, UNUSABLE_KEY);
  }

  #refuse(refusal: Refusal, connection: WebsocketConnection, { upgrade, frame }: Refused): void {
    const turn = this.#frameTurn(upgrade, this.#options.generation()) ?? upgrade.turn;
    if (this.#turns.isForwarded(connection)) this.#turns.pass(turn, refusal, connection);
    else this.#turns.refuse(turn, refusal, connection, frame);
  }

  /** Leaves a row for a connection that one of its limits ended (RM4). */
  #limitBroken(limit: BrokenLimit, { turn }: Upgrade): void {
    turn.note('reason_class', limit === 'idle' ? 'timeout' : 'max_frame_size_exceeded');
    this.#options.runner.recordRefused(turn, new Refusal(limit === 'idle' ? 'request_timeout' : 'request_too_large'));
  }

  /** A turn in the configuration of now; undefined where that has no such row any more. */
  #frameTurn(upgrade: Upgrade, generation: Generation, frame?: Frame): LiveTurn | undefined {
    if (upgrade.found?.generation !== generation) {
      const found = generation.routes.find('WS', upgrade.path);
      upgrade.found = { generation, match: found && 'route' in found ? found : undefined };
    }
    const { match } = upgrade.found;
    return match && this.#turn(upgrade, match, generation, frame instanceof Refusal ? undefined : frame?.mode);
  }

  #turn(
    { query, headers, client }: Omit<Upgrade, 'turn'>,
    { route, params }: Match,
    generation: Generation,
    mode?: ModeDecision,
  ): LiveTurn {
    const keyOf = (secret: string): ReturnType<Generation['keyOf']> => client.keyOf(secret, generation);
    const arrival = { route, params, client: 'websocket', method: 'WS', headers, query, keyOf, mode } as const;
    return new LiveTurn(arrival, generation, this.#options.host);
  }

  #unusable(upgrade: Upgrade, generation: Generation): string | undefined {
    const turn = this.#frameTurn(upgrade, generation);
    if (!turn) return NOT_SERVED;
    try {
      turn.rules.admit();
      return undefined;
    } catch (thrown) {
      return refusalOf(thrown).status === 401 ? UNUSABLE_KEY : NOT_SERVED;
    }
  }
}

function targetOf({ url = '' }: IncomingMessage): { readonly path: string; readonly query: string } {
  const at = url.indexOf('?');
  return at === -1 ? { path: url, query: '' } : { path: url.slice(0, at), query: url.slice(at) };
}
