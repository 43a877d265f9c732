// Client websockets: their upgrades, a turn for each of their frames, and their end with the configuration or the process (Q28).
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { OverloadGuard } from '../admission/overload-guard.ts';
import type { Batches } from '../base/process/batch.ts';
import type { Heartbeat } from '../base/process/heartbeat.ts';
import { clientAddress, forwardedFor } from '../clients/http/connections/client-address.ts';
import { connectionOf } from '../clients/http/connections/client-connection.ts';
import { pathOfTarget, queryOfTarget } from '../clients/http/connections/framing.ts';
import { endRaw } from '../clients/http/connections/raw-refusal.ts';
import type { Frame, TurnFrame } from '../clients/websocket/frame.ts';
import { type Handshake, shakeHands } from '../clients/websocket/handshake.ts';
import { type BrokenLimit, CLOSE, WebsocketConnection } from '../clients/websocket/websocket-connection.ts';
import type { Hop, HopRefusal } from '../nodes/hop-listener.ts';
import { Refusal, refusalOf, upgradeRequired } from '../turn/errors/refusal.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import { type Match, NO_ROUTE } from '../turn/routes/route-table.ts';
import type { PoolConfig } from '../turn/settings.ts';
import type { TurnHost } from '../turn/turn-host.ts';
import { clientHeaders } from '../turn/wire/headers.ts';
import type { WebsocketSupport } from '../upstream/websocket-support.ts';
import { ClientUpgrade, UNUSABLE_KEY } from './client-upgrade.ts';
import { FORWARDED_SIZE, forwardedRequest, readForwarded } from './forwarded-upgrade.ts';
import { FrameTurns, type FrameTurnsOptions } from './frame-turns.ts';
import type { Generation } from './generation.ts';

export interface WebsocketsOptions extends Omit<FrameTurnsOptions, 'turnOf'> {
  /** The current generation, with which turns begin. */
  readonly current: { readonly generation: Generation };
  readonly host: TurnHost;
  readonly heartbeat: Heartbeat;
  readonly batches: Batches;
  readonly overload: OverloadGuard;
  /** Knows which accounts take websockets. */
  readonly support: WebsocketSupport;
}

/** A client websocket that is open. */
interface Opened {
  readonly upgrade: ClientUpgrade;
  /** The headers of the answer to the upgrade. Present if another node forwards the client. */
  readonly hop?: Hop['headers'];
}

/** A frame that does not become a turn. */
interface Refused {
  readonly upgrade: ClientUpgrade;
  readonly frame: Frame | undefined;
}

export class Websockets {
  readonly #options: WebsocketsOptions;
  readonly #open = new Map<WebsocketConnection, ClientUpgrade>();
  readonly #turns: FrameTurns;
  #draining = false;

  constructor(options: WebsocketsOptions) {
    this.#options = options;
    const turnOf: FrameTurnsOptions['turnOf'] = (connection, mode) => this.#open.get(connection)?.turnIn(options.current.generation, mode);
    this.#turns = new FrameTurns({ ...options, turnOf });
  }

  get count(): number {
    return this.#open.size;
  }

  /** The bytes that clients have not read yet, and bytes that are kept for clients that may reconnect. */
  get heldBytes(): number {
    let bytes = this.#turns.heldBytes;
    for (const connection of this.#open.keys()) bytes += connection.heldBytes;
    return bytes;
  }

  /** The number of sessions that are leased to this node. */
  get ownedSessions(): number {
    return this.#turns.ownedSessions;
  }

  /** Accepts an upgrade, or refuses it and ends the connection. */
  accept(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const { current, host, overload, support } = this.#options;
    const { generation } = current;
    const { url = '' } = request;
    const path = pathOfTarget(url);
    const found = generation.routes.find('WS', path);
    const match: Match = found && 'route' in found ? found : { route: NO_ROUTE, params: {} };
    const connection = connectionOf(socket);
    // Read even if this configuration does not need it, because the next one may.
    const address = clientAddress(connection, forwardedFor(request.headers), generation.proxies);
    const asked = { path, query: queryOfTarget(url), headers: clientHeaders(request.headers), address, client: connection };
    const upgrade = new ClientUpgrade(asked, match, generation, host);
    const { turn } = upgrade;
    try {
      turn.rules.admit();
      if (this.#draining) throw new Refusal('server_is_overloaded');
      const overloaded = overload.refusal(turn.at);
      if (overloaded) throw overloaded;
      if (!speaks(turn.pool, generation, support)) throw upgradeRequired();
      this.#shakeHands({ request, socket, head }, { upgrade });
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) turn.fault(thrown);
      this.#refuseUpgrade(turn, socket, refusalOf(thrown));
    }
  }

  /** Takes over the websocket of a client that another node forwards, if this node has a turn for it. @returns the reason if it does not */
  acceptForwarded({ client, headers, ...handshake }: Hop): HopRefusal | undefined {
    if (this.#draining) return 503;
    const { current, host, counters } = this.#options;
    const { generation } = current;
    const found = generation.routes.find('WS', client.path);
    if (!found || !('route' in found)) return 404;
    const upgrade = new ClientUpgrade(forwardedRequest(client), found, generation, host);
    const { turn } = upgrade;
    if (!this.#turns.takes(turn, client.turn_id) || turn.pool.id !== client.pool) return 404;
    counters.add('websockets_taken_over');
    this.#shakeHands(handshake, { upgrade, hop: headers });
    return undefined;
  }

  /** Ends connections whose key or endpoint may no longer be used, after their running turns. */
  configure(): void {
    const { generation } = this.#options.current;
    for (const [connection, upgrade] of this.#open) {
      const reason = upgrade.unusableIn(generation);
      if (reason === undefined) connection.keepOpen();
      else connection.closeAfterTurn(CLOSE.policy, reason);
    }
  }

  /** Refuses new turns. A connection ends after its running turn. */
  drain(): void {
    this.#draining = true;
    this.#turns.drain();
    for (const connection of this.#open.keys()) connection.closeAfterTurn(CLOSE.goingAway, 'the gateway stops');
  }

  /** Gives up the sessions of this node, which has no more turns. */
  stop(): Promise<void> {
    return this.#turns.stop();
  }

  /** Ends all connections at once. */
  destroy(): void {
    for (const connection of this.#open.keys()) connection.terminate();
  }

  #shakeHands(handshake: Handshake, opened: Opened): void {
    const { socket } = handshake;
    const { upgrade, hop } = opened;
    const { turn } = upgrade;
    shakeHands(handshake, {
      maxPayload: turn.limits.request_body_bytes * (hop ? FORWARDED_SIZE : 1),
      maxFragments: turn.limits.websocket_fragments,
      headers: () => hop ?? turn.ownHeaders(),
      accepted: (ws) => this.#accepted(ws, socket, opened),
      refused: (refusal) => this.#refuseUpgrade(turn, socket, refusal),
    });
  }

  #refuseUpgrade(turn: LiveTurn, socket: Socket, refusal: Refusal): void {
    this.#options.runner.recordRefused(turn, refusal);
    endRaw(socket, refusal, turn.id);
  }

  #accepted(ws: WebSocket, socket: Socket, { upgrade, hop }: Opened): void {
    const { batches, clock, counters, guard, heartbeat } = this.#options;
    const { limits, timeouts } = upgrade.turn;
    if (!hop) counters.add('websockets_accepted');
    heartbeat.watch(ws);
    const connection = new WebsocketConnection({
      ws,
      socket,
      idleMs: timeouts.websocket_idle_timeout_ms,
      messageMs: timeouts.client_body_ms,
      limits,
      clock,
      counters,
      share: guard.of(upgrade.turn.identity?.key.id),
      batches,
      read: hop && readForwarded,
      serve: (frame, from) => this.#serve(frame, from, upgrade),
      control: (frame, from) => this.#control(frame, from, upgrade),
      refuse: (refusal, from, frame) => this.#refuse(refusal, from, { upgrade, frame }),
      limitBroken: (limit) => this.#limitBroken(limit, upgrade),
    });
    this.#open.set(connection, upgrade);
    ws.on('close', () => this.#open.delete(connection));
  }

  async #serve(frame: Frame, connection: WebsocketConnection, upgrade: ClientUpgrade): Promise<void> {
    const turn = upgrade.turnIn(this.#options.current.generation, frame instanceof Refusal ? undefined : frame.mode);
    if (!turn || this.#draining) {
      this.#options.counters.add('drain_refused');
      this.#refuse(new Refusal(turn ? 'server_is_overloaded' : 'unknown_endpoint'), connection, { upgrade, frame });
      return;
    }
    if (this.#turns.isForwarded(connection)) this.#turns.pass(turn, frame, connection);
    else await this.#turns.serve(turn, frame, connection);
    const { identity } = turn;
    const expires = identity?.key.expires_at;
    // A turn for which its client reconnected was authenticated before it was looked up.
    if (!identity || (expires !== undefined && turn.wallTime() >= expires)) connection.closeAfterTurn(CLOSE.policy, UNUSABLE_KEY);
  }

  /** Handles a frame about the running response, which may be here or at another node. */
  #control(frame: TurnFrame, connection: WebsocketConnection, upgrade: ClientUpgrade): void {
    if (!this.#turns.isForwarded(connection)) this.#turns.control(frame, connection);
    else this.#turns.pass(upgrade.turnIn(this.#options.current.generation) ?? upgrade.turn, frame, connection);
  }

  #refuse(refusal: Refusal, connection: WebsocketConnection, { upgrade, frame }: Refused): void {
    const turn = upgrade.turnIn(this.#options.current.generation) ?? upgrade.turn;
    if (this.#turns.isForwarded(connection)) this.#turns.pass(turn, refusal, connection);
    else this.#turns.refuse(turn, refusal, connection, frame);
  }

  /** Writes a row for a connection that was ended by one of its limits (RM4). */
  #limitBroken(limit: BrokenLimit, { turn }: ClientUpgrade): void {
    turn.note('reason_class', limit === 'idle' ? 'timeout' : 'max_frame_size_exceeded');
    this.#options.runner.recordRefused(turn, new Refusal(limit === 'idle' ? 'request_timeout' : 'request_too_large'));
  }
}

/** Whether an account of the Pool takes websockets. */
const speaks = ({ assignments }: PoolConfig, { accounts }: Generation, support: WebsocketSupport): boolean =>
  assignments.some(({ account: id }) => {
    const account = accounts.get(id);
    return account !== undefined && support.has(account);
  });
