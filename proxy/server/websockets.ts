// Client websockets: their upgrades, and their end with the configuration or the process. Each is a session (Q28).
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { OverloadGuard } from '../admission/overload-guard.ts';
import type { Heartbeat } from '../base/process/heartbeat.ts';
import { clientAddress, forwardedFor } from '../clients/http/connections/client-address.ts';
import { connectionOf, pathOfTarget, queryOfTarget } from '../clients/http/connections/client-connection.ts';
import { endRaw } from '../clients/http/connections/raw-refusal.ts';
import { CLOSE } from '../clients/websocket/close-codes.ts';
import { type Handshake, shakeHands } from '../clients/websocket/handshake.ts';
import type { WebsocketConnection } from '../clients/websocket/websocket-connection.ts';
import type { Hop, HopRefusal } from '../nodes/hop-listener.ts';
import { gatewayStops, Refusal, refusalOf, upgradeRequired } from '../turn/errors/refusal.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import { type Match, NO_ROUTE } from '../turn/routes/route-table.ts';
import type { PoolConfig } from '../turn/settings.ts';
import type { TurnHost } from '../turn/turn-host.ts';
import { clientHeaders } from '../turn/wire/headers.ts';
import type { WebsocketSupport } from '../upstream/websocket-support.ts';
import { ClientUpgrade } from './client-upgrade.ts';
import { FORWARDED_SIZE, forwardedRequest } from './forwarded-session.ts';
import { FrameControls } from './frame-controls.ts';
import type { Generation } from './generation.ts';
import { NativeSessions, type NativeSessionsOptions } from './native-sessions.ts';
import { type AcceptedWebsocket, GATEWAY_STOPS, type SessionServices, WebsocketSession } from './websocket-session.ts';

export interface WebsocketsOptions
  extends Omit<SessionServices, 'controls' | 'natives' | 'sessionAt'>,
    Pick<NativeSessionsOptions, 'nodes' | 'replies'> {
  readonly host: TurnHost;
  readonly heartbeat: Heartbeat;
  readonly overload: OverloadGuard;
  /** Knows which accounts take websockets. */
  readonly support: WebsocketSupport;
}

export class Websockets {
  readonly #options: WebsocketsOptions;
  readonly #sessions = new Map<WebsocketConnection, WebsocketSession>();
  readonly #natives: NativeSessions;
  readonly #services: SessionServices;

  constructor(options: WebsocketsOptions) {
    this.#options = options;
    const sessionAt = (connection: WebsocketConnection): WebsocketSession | undefined => this.#sessions.get(connection);
    this.#natives = new NativeSessions({
      ...options,
      forgotten: (client) => client.currentConnection && sessionAt(client.currentConnection)?.forget(client),
    });
    this.#services = { ...options, controls: new FrameControls(options), natives: this.#natives, sessionAt };
  }

  get count(): number {
    return this.#sessions.size;
  }

  /** The bytes that clients and other nodes have not read yet, and bytes that are kept for clients that may come back. */
  get heldBytes(): number {
    let bytes = this.#natives.turns.keptBytes;
    for (const session of this.#sessions.values()) bytes += session.heldBytes;
    return bytes;
  }

  /** The number of sessions that are leased to this node. */
  get ownedSessions(): number {
    return this.#natives.owners?.count ?? 0;
  }

  /** The number of websockets whose turns run at another node. */
  get forwarded(): number {
    return [...this.#sessions.values()].filter(({ isForwarded }) => isForwarded).length;
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
      if (this.#natives.isDraining) throw gatewayStops();
      const overloaded = overload.refusal(turn.at);
      if (overloaded) throw overloaded;
      if (!speaks(turn.pool, generation, support)) throw upgradeRequired();
      this.#shakeHands({ request, socket, head }, upgrade);
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) turn.fault(thrown);
      this.#refuseUpgrade(turn, socket, refusalOf(thrown));
    }
  }

  /** Takes over the websocket of a client that another node forwards, if this node has a turn for it. @returns the reason if it does not */
  acceptForwarded({ client, headers, ...handshake }: Hop): HopRefusal | undefined {
    if (this.#natives.isDraining) return 503;
    const { current, host, counters } = this.#options;
    const { generation } = current;
    const found = generation.routes.find('WS', client.path);
    if (!found || !('route' in found)) return 404;
    const upgrade = new ClientUpgrade(forwardedRequest(client), found, generation, host);
    const { turn } = upgrade;
    if (!this.#natives.takes(turn, client.turn_id) || turn.pool.id !== client.pool) return 404;
    counters.add('websockets_taken_over');
    this.#shakeHands(handshake, upgrade, headers);
    return undefined;
  }

  /** Ends connections whose key or endpoint may no longer be used, after their running turns. */
  configure(): void {
    for (const session of this.#sessions.values()) session.configure();
  }

  /** Refuses new turns. A connection ends after its running turn. */
  drain(): void {
    this.#natives.drain();
    for (const session of this.#sessions.values()) session.endAfterTurn(CLOSE.goingAway, GATEWAY_STOPS);
  }

  /** Stops the turns that still run here, whose clients get the end of their replies, and closes the websockets of turns at other nodes. */
  stopTurns(): void {
    for (const session of this.#sessions.values()) session.stopTurn();
  }

  /** Gives up the sessions of this node, which has no more turns. */
  stop(): Promise<void> {
    return this.#natives.stop();
  }

  /** Ends all connections at once. */
  destroy(): void {
    for (const connection of this.#sessions.keys()) connection.terminate();
  }

  /** @param hop the headers of the answer to the upgrade. Present if another node forwards the client */
  #shakeHands(handshake: Handshake, upgrade: ClientUpgrade, hop?: Hop['headers']): void {
    const { socket } = handshake;
    const { turn } = upgrade;
    shakeHands(handshake, {
      maxPayload: turn.limits.request_body_bytes * (hop ? FORWARDED_SIZE : 1),
      maxFragments: turn.limits.websocket_fragments,
      headers: () => hop ?? turn.ownHeaders(),
      accepted: (ws) => this.#accepted({ ws, socket, upgrade, isFromNode: hop !== undefined }),
      refused: (refusal) => this.#refuseUpgrade(turn, socket, refusal),
    });
  }

  #refuseUpgrade(turn: LiveTurn, socket: Socket, refusal: Refusal): void {
    this.#options.runner.recordRefused(turn, refusal);
    endRaw(socket, refusal, turn.id);
  }

  #accepted(accepted: AcceptedWebsocket): void {
    const { counters, heartbeat } = this.#options;
    const { ws, isFromNode } = accepted;
    if (!isFromNode) counters.add('websockets_accepted');
    heartbeat.watch(ws);
    const session = new WebsocketSession(this.#services, accepted);
    const { connection } = session;
    this.#sessions.set(connection, session);
    ws.on('close', () => this.#sessions.delete(connection));
  }
}

/** Whether an account of the Pool takes websockets. */
const speaks = ({ assignments }: PoolConfig, { accounts }: Generation, support: WebsocketSupport): boolean =>
  assignments.some(({ account: id }) => {
    const account = accounts.get(id);
    return account !== undefined && support.has(account);
  });
