// Forwards client websockets that reconnect at another node than the one that has their turn. This node finds the owner (Q34).
import type { Counters } from '../base/process/metrics.ts';
import type { Frame } from '../clients/websocket/frame.ts';
import type { WebsocketConnection } from '../clients/websocket/websocket-connection.ts';
import type { ForwardedClient } from '../nodes/forwarded-client.ts';
import type { ForwardedMessage } from '../nodes/forwarded-frame.ts';
import { Forwarding } from '../nodes/forwarding.ts';
import type { OwnerConnections } from '../nodes/owner-connection.ts';
import { SessionOwners, type SessionOwnersOptions, type SessionTurns } from '../sessions/session-owners.ts';
import { Refusal, refusalOf } from '../turn/errors/refusal.ts';
import { isObject } from '../turn/json/json.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import type { Body, ModeDecision } from '../turn/turn.ts';
import { continuityHeaders } from '../turn/wire/session-header.ts';
import type { RunningTurns } from './running-turns.ts';

/** The services with which nodes of a shared store find each other's turns. */
export interface NodeSessions {
  readonly owners: Omit<SessionOwnersOptions, 'turns'>;
  readonly connections: OwnerConnections;
}

/** The most owners that are asked, because an owner may lose the session to another one before it is asked. */
const MOST_OWNERS = 3;

export class SessionForwarding {
  readonly owners: SessionOwners;
  readonly #connections: OwnerConnections;
  readonly #counters: Counters;
  readonly #running: RunningTurns;
  /** Connections whose first frame of a session has come. Their turns run here, or at the session's owner. */
  readonly #decided = new WeakSet<WebsocketConnection>();
  readonly #forwarded = new Map<WebsocketConnection, Forwarding>();

  constructor(
    nodes: NodeSessions,
    turns: SessionTurns,
    { counters, running }: { readonly counters: Counters; readonly running: RunningTurns },
  ) {
    this.owners = new SessionOwners({ ...nodes.owners, turns });
    this.#connections = nodes.connections;
    this.#counters = counters;
    this.#running = running;
  }

  get heldBytes(): number {
    let bytes = 0;
    for (const forwarding of this.#forwarded.values()) bytes += forwarding.heldBytes;
    return bytes;
  }

  has(connection: WebsocketConnection): boolean {
    return this.#forwarded.has(connection);
  }

  /** Whether the next frame of a session decides which node serves the connection. */
  isUndecided(connection: WebsocketConnection): boolean {
    return !connection.isFromNode && !this.#decided.has(connection);
  }

  /**
   * Forwards the connection to the owner of the session. Resolves with false at once if the turns run here, otherwise when the connection
   * has ended.
   */
  async forward(turn: LiveTurn, frame: Frame, connection: WebsocketConnection, session: string): Promise<boolean> {
    this.#decided.add(connection);
    if (frame instanceof Refusal) return false;
    let other = await this.owners.claim(session);
    for (let i = 0; other && i < MOST_OWNERS; i++) {
      const owner = await this.#connections.open(other, clientOf(turn, frame.json));
      if (owner) {
        this.owners.giveUp(session);
        await this.#run(new Forwarding(connection, owner), turn, frame, connection);
        return true;
      }
      other = await this.owners.claim(session, other);
    }
    return false;
  }

  /** Forwards a frame with the serving mode that this node captured. */
  pass(turn: LiveTurn, frame: Frame, connection: WebsocketConnection): void {
    this.#forwarded.get(connection)?.send(messageOf(turn, frame));
  }

  async #run(forwarding: Forwarding, turn: LiveTurn, frame: Frame, connection: WebsocketConnection): Promise<void> {
    this.#counters.add('websockets_forwarded');
    // Counted, because a gateway that stops waits for the turns of its clients at any node.
    this.#running.begin();
    this.#forwarded.set(connection, forwarding);
    this.pass(turn, frame, connection);
    connection.forward((ending) => forwarding.send({ kind: 'end', ...ending }));
    await forwarding.over;
    this.#forwarded.delete(connection);
    this.#running.end();
  }
}

function clientOf(turn: LiveTurn, { client_metadata }: Body): ForwardedClient {
  const { address, headers, key, pool, query, route, surface, wire } = turn;
  const isAsked = key.allow_from !== undefined || turn.generation.config.log.client_address;
  const turnId = isObject(client_metadata) ? client_metadata.turn_id : undefined;
  return {
    key: key.id,
    pool: pool.id,
    path: route.template,
    query,
    ...(address !== undefined && isAsked && { address }),
    headers: { ...surface.requestHeaders(headers, wire), ...continuityHeaders(headers, wire) },
    turn_id: typeof turnId === 'string' ? turnId : '',
  };
}

/** The message for the owner. The checks of this node apply too, because its configuration may be newer than the owner's. */
function messageOf(turn: LiveTurn, frame: Frame): ForwardedMessage {
  try {
    // First, because every frame checks whether the connection's key can still be used.
    turn.rules.admit();
    if (frame instanceof Refusal) throw frame;
    const mode = modeOf(turn, frame.json);
    return { kind: 'frame', json: frame.json, bytes: frame.bytes, ...(mode && { mode }) };
  } catch (thrown) {
    if (!(thrown instanceof Refusal)) turn.fault(thrown);
    return { kind: 'refusal', refusal: refusalOf(thrown) };
  }
}

/** Undefined for a model without a mode, and for a model that is unknown at this node, whose mode the owner then decides. */
function modeOf(turn: LiveTurn, { model }: Body): ModeDecision | undefined {
  if (typeof model !== 'string' || turn.presenceOf(model) !== 'routable') return undefined;
  const view = turn.findModel(model);
  return view instanceof Promise ? undefined : view?.mode;
}
