// The turns of client websockets. Each frame is a turn, or continues a turn for which its client has reconnected (Q28, Q29).
import type { MemoryGuard } from '../base/bytes/memory-guard.ts';
import type { Frame, TurnFrame } from '../clients/websocket/frame.ts';
import { FrameClient } from '../clients/websocket/frame-client.ts';
import { ResumableClient } from '../clients/websocket/resumable-client.ts';
import type { WebsocketConnection } from '../clients/websocket/websocket-connection.ts';
import { ProcessDigest } from '../encryption/digest.ts';
import { ResumableTurns } from '../sessions/resumable-turns.ts';
import { boundedId, identityOf, type TurnIdentity } from '../sessions/turn-identity.ts';
import { Refusal } from '../turn/errors/refusal.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import { sessionOf } from '../turn/wire/session-header.ts';
import { FrameControls, type FrameControlsOptions } from './frame-controls.ts';
import type { RunningTurns } from './running-turns.ts';
import { type NodeSessions, SessionForwarding } from './session-forwarding.ts';
import type { TurnRunner } from './turn-runner.ts';

export interface FrameTurnsOptions extends FrameControlsOptions {
  readonly runner: TurnRunner;
  /** The bytes that turns hold of their replies. */
  readonly replies: MemoryGuard;
  readonly running: RunningTurns;
  /** Undefined if the store has one node. */
  readonly nodes?: NodeSessions | undefined;
}

/** A turn for which a client may reconnect, and its session with the key. */
interface Identified {
  readonly session: string;
  readonly identity: TurnIdentity;
}

export class FrameTurns {
  readonly #options: FrameTurnsOptions;
  readonly #resumable: ResumableTurns<ResumableClient>;
  readonly #forwarding: SessionForwarding | undefined;
  /** Digests the identity of a turn. */
  readonly #digest = new ProcessDigest();
  #draining = false;
  readonly #controls: FrameControls;
  /** The client of the running turn on each connection. */
  readonly #running = new WeakMap<WebsocketConnection, FrameClient>();
  /** The last turn of each connection, if its client may come back for it. */
  readonly #last = new WeakMap<WebsocketConnection, ResumableClient>();

  constructor(options: FrameTurnsOptions) {
    this.#options = options;
    this.#resumable = new ResumableTurns(options.clock);
    this.#controls = new FrameControls(options);
    this.#forwarding = options.nodes && new SessionForwarding(options.nodes, this.#resumable, options);
  }

  /** The bytes that are kept for clients that may reconnect, and bytes of forwarded clients that other nodes have not read yet. */
  get heldBytes(): number {
    return this.#resumable.keptBytes + (this.#forwarding?.heldBytes ?? 0);
  }

  /** The number of sessions that are leased to this node. */
  get ownedSessions(): number {
    return this.#forwarding?.owners.count ?? 0;
  }

  /**
   * Ends the turns that have no client. From now on a turn also ends when its client leaves, because clients cannot resume at a gateway
   * that stops.
   */
  drain(): void {
    this.#draining = true;
    this.#resumable.endDetached();
  }

  /** Whether another node serves the turns of the connection. */
  isForwarded(connection: WebsocketConnection): boolean {
    return this.#forwarding?.has(connection) ?? false;
  }

  /** Forwards a frame of such a connection. */
  pass(turn: LiveTurn, frame: Frame, connection: WebsocketConnection): void {
    this.#forwarding?.pass(turn, frame, connection);
  }

  /**
   * Whether this node has a turn for a client that is connected to another node. If not, the other node takes over the session.
   * @param turnId the id in the client's frame
   */
  takes(turn: LiveTurn, turnId: string): boolean {
    const session = this.#sessionOf(turn);
    if (session === undefined) return false;
    if (this.#resumable.concerns(session, boundedId(turnId, this.#digest))) return true;
    this.#forwarding?.owners.giveUp(session);
    return false;
  }

  /** Gives up the sessions of this node, because it ends. */
  async stop(): Promise<void> {
    await this.#forwarding?.owners.stop();
  }

  /** Runs the turn of a frame, or continues the turn of which the frame is an exact retry. Never rejects. */
  async serve(turn: LiveTurn, frame: Frame, connection: WebsocketConnection): Promise<void> {
    const { counters } = this.#options;
    this.#last.get(connection)?.acknowledged();
    this.#last.delete(connection);
    const identified = this.#identified(turn, frame);
    if (identified && this.#forwarding?.isUndecided(connection)) {
      if (await this.#forwarding.forward(turn, frame, connection, identified.session)) return;
      if (!connection.isOpen) {
        this.#options.runner.recordLeft(turn);
        return;
      }
    }
    const found = identified && !(frame instanceof Refusal) && this.#resumable.find(identified.session, identified.identity, frame.json);
    if (found) {
      this.#last.set(connection, found.turn);
      this.#running.set(connection, found.turn);
      this.#options.runner.recordRetry(turn, await found.turn.attach(connection, found.items));
      return;
    }
    const hasFormer = identified !== undefined && this.#resumable.has(identified.session);
    // Registered before the wait, so that a client that reconnects during it finds this turn and does not begin a second one.
    const client = identified ? this.#resumableClient(turn, frame, connection, identified) : new FrameClient(turn, frame, connection);
    const replaced = hasFormer ? await this.#resumable.replace(identified.session) : 0;
    for (let i = 0; i < replaced; i++) counters.add('turns_replaced');
    const current = client.currentConnection;
    // The client left before the turns that it replaced had ended.
    if (!current?.isOpen) client.ended(this.#options.runner.recordLeft(turn));
    else await this.#run(turn, client, current);
  }

  /** Handles a frame about the response that runs on the connection. */
  control(frame: TurnFrame, connection: WebsocketConnection): void {
    void this.#controls.take(frame, connection, this.#running.get(connection));
  }

  /** Runs a turn, and then the turns of further responses that the client steers to. */
  async #run(turn: LiveTurn, client: FrameClient, connection: WebsocketConnection): Promise<void> {
    const { runner, running, turnOf } = this.#options;
    this.#running.set(connection, client);
    running.begin();
    const ending = await runner.run(turn, client, running.end);
    // The client may have reconnected over another connection.
    const current = client.currentConnection ?? connection;
    const continued = await this.#controls.continuation(client, current);
    const next = continued && turnOf(current, turn.model?.mode);
    if (next) await this.#run(next, new FrameClient(next, continued.frame, current), current);
    // The next turn takes the response of the steer. If that turn was refused, the account has to stop the response.
    continued?.following.cancel();
    this.#running.delete(current);
    client.ended(ending);
  }

  /** Answers a frame that does not become a turn, and writes its row. */
  refuse(turn: LiveTurn, refusal: Refusal, connection: WebsocketConnection, frame: Frame = refusal): void {
    try {
      turn.rules.admit();
    } catch {
      // The turn was not admitted, so its row has no key.
    }
    const client = new FrameClient(turn, frame, connection);
    client.ended(this.#options.runner.refuse(turn, client, refusal));
  }

  /** The identity with which a client can reconnect for the turn; undefined if it cannot. */
  #identified(turn: LiveTurn, frame: Frame): Identified | undefined {
    if (frame instanceof Refusal || !turn.surface.agentProtocol) return undefined;
    const identity = identityOf(frame.json, this.#digest);
    const session = identity && this.#sessionOf(turn);
    return session === undefined || !identity ? undefined : { session, identity };
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

  #resumableClient(turn: LiveTurn, frame: Frame, connection: WebsocketConnection, { session, identity }: Identified): ResumableClient {
    const { clock, counters, replies } = this.#options;
    const { replies_in_memory_bytes, websocket_resume_bytes } = turn.limits;
    const client = new ResumableClient(turn, frame, connection, {
      identity,
      windowMs: turn.timeouts.websocket_resume_ms,
      memory: { maxBytes: websocket_resume_bytes, replies, maxReplies: replies_in_memory_bytes },
      canComeBack: () => !this.#draining,
      clock,
      counters,
      forget: (forgotten) => this.#forget(session, forgotten),
    });
    this.#resumable.add(session, client);
    this.#forwarding?.owners.hold(session);
    this.#last.set(connection, client);
    return client;
  }
  #forget(session: string, client: ResumableClient): void {
    this.#resumable.remove(session, client);
    const connection = client.currentConnection;
    if (connection && this.#last.get(connection) === client) this.#last.delete(connection);
  }
}
