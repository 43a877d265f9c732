// The sessions of native clients: the turns of this node for which clients may come back, and the node that has a session (Q29, Q34).
import type { WebSocket } from 'ws';
import type { MemoryGuard } from '../base/bytes/memory-guard.ts';
import type { Counters } from '../base/process/metrics.ts';
import type { Clock } from '../base/time/clock.ts';
import type { Frame, TurnFrame } from '../clients/websocket/frame.ts';
import { ResumableClient } from '../clients/websocket/resumable-client.ts';
import type { WebsocketConnection } from '../clients/websocket/websocket-connection.ts';
import { ProcessDigest } from '../encryption/digest.ts';
import type { OwnerConnections } from '../nodes/owner-connection.ts';
import { ResumableTurns } from '../sessions/resumable-turns.ts';
import { SessionOwners, type SessionOwnersOptions } from '../sessions/session-owners.ts';
import { boundedId, identityOf, type TurnIdentity } from '../sessions/turn-identity.ts';
import { Refusal } from '../turn/errors/refusal.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import { sessionOf } from '../turn/wire/session-header.ts';
import { clientOf } from './forwarded-session.ts';

/** The services with which nodes of a shared store find each other's turns. */
export interface NodeSessions {
  readonly owners: Omit<SessionOwnersOptions, 'turns'>;
  readonly connections: OwnerConnections;
}

export interface NativeSessionsOptions {
  readonly clock: Clock;
  readonly counters: Counters;
  /** The bytes that turns hold of their replies. */
  readonly replies: MemoryGuard;
  /** Undefined if the store has one node. */
  readonly nodes?: NodeSessions | undefined;
  /** Called when a client can no longer come back for its turn. */
  readonly forgotten: (client: ResumableClient) => void;
}

/** A turn for which a client may come back, and its session with the key. */
export interface IdentifiedTurn {
  readonly session: string;
  readonly identity: TurnIdentity;
  readonly frame: TurnFrame;
}

/** The most owners that are asked, because an owner may lose the session to another one before it is asked. */
const MOST_OWNERS = 3;

export class NativeSessions {
  readonly turns: ResumableTurns<ResumableClient>;
  /** Undefined if the store has one node. */
  readonly owners: SessionOwners | undefined;
  readonly #options: NativeSessionsOptions;
  /** Digests the identity of a turn. */
  readonly #digest = new ProcessDigest();
  #isDraining = false;

  constructor(options: NativeSessionsOptions) {
    this.#options = options;
    this.turns = new ResumableTurns(options.clock);
    this.owners = options.nodes && new SessionOwners({ ...options.nodes.owners, turns: this.turns });
  }

  /** Whether the gateway stops, so that clients cannot come back. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Ends the turns that have no client. From now on a turn also ends when its client leaves. */
  drain(): void {
    this.#isDraining = true;
    this.turns.endDetached();
  }

  /**
   * Whether this node has a turn for a client that is connected to another node. If not, the other node takes over the session.
   * @param turnId the id in the client's frame
   */
  takes(turn: LiveTurn, turnId: string): boolean {
    const session = this.#sessionOf(turn);
    if (session === undefined) return false;
    if (this.turns.concerns(session, boundedId(turnId, this.#digest))) return true;
    this.owners?.giveUp(session);
    return false;
  }

  /** Undefined if the client cannot come back for the turn of the frame. */
  identify(turn: LiveTurn, frame: Frame): IdentifiedTurn | undefined {
    if (frame instanceof Refusal || !turn.surface.agentProtocol) return undefined;
    const identity = identityOf(frame.json, this.#digest);
    const session = identity && this.#sessionOf(turn);
    return session === undefined || !identity ? undefined : { session, identity, frame };
  }

  /** The open connection to the node that has the session and takes over its client. Undefined if the turns run here. */
  async ownerOf({ session, frame }: IdentifiedTurn, turn: LiveTurn): Promise<WebSocket | undefined> {
    const { nodes } = this.#options;
    let other = await this.owners?.claim(session);
    for (let i = 0; other && i < MOST_OWNERS; i++) {
      const owner = await nodes?.connections.open(other, clientOf(turn, frame.json));
      if (owner) {
        this.owners?.giveUp(session);
        return owner;
      }
      other = await this.owners?.claim(session, other);
    }
    return undefined;
  }

  /** Registers a turn for which its client may come back. */
  begin(turn: LiveTurn, { session, identity, frame }: IdentifiedTurn, connection: WebsocketConnection): ResumableClient {
    const { clock, counters, forgotten, replies } = this.#options;
    const { replies_in_memory_bytes, websocket_resume_bytes } = turn.limits;
    const client = new ResumableClient(turn, frame, connection, {
      identity,
      windowMs: turn.timeouts.websocket_resume_ms,
      memory: { maxBytes: websocket_resume_bytes, replies, maxReplies: replies_in_memory_bytes },
      canComeBack: () => !this.#isDraining,
      clock,
      counters,
      forget: (one) => {
        this.turns.remove(session, one);
        forgotten(one);
      },
    });
    this.turns.add(session, client);
    this.owners?.hold(session);
    return client;
  }

  /** Gives up the sessions of this node, because it ends. */
  async stop(): Promise<void> {
    await this.owners?.stop();
  }

  /** The session with its key; undefined if the turn names no session. */
  #sessionOf(turn: LiveTurn): string | undefined {
    const session = sessionOf(turn.headers, turn.wire);
    if (session === undefined) return undefined;
    try {
      turn.rules.admit();
      return `${turn.key.id}\n${session}`;
    } catch {
      // The run of the turn refuses it.
      return undefined;
    }
  }
}
