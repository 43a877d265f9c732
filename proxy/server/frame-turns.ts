// The turns of client websockets: one for each frame, or the turn that its client comes back for (Q28, Q29).
import type { MemoryGuard } from '../base/bytes/memory-guard.ts';
import type { WebsocketConnection } from '../clients/websocket/connection.ts';
import type { Frame, TurnFrame } from '../clients/websocket/frame.ts';
import { FrameClient } from '../clients/websocket/frame-client.ts';
import { ResumableClient } from '../clients/websocket/resumable-client.ts';
import { ProcessDigest } from '../encryption/digest.ts';
import { ResumableTurns } from '../sessions/resumable-turns.ts';
import { boundedId, identityOf, type TurnIdentity } from '../sessions/turn-identity.ts';
import { Refusal } from '../turn/errors/refusal.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import { sessionOf } from '../turn/wire/session.ts';
import { FrameControls, type FrameControlsOptions } from './frame-controls.ts';
import type { RunningTurns } from './running-turns.ts';
import { type NodeSessions, SessionForwarding } from './session-forwarding.ts';
import type { TurnRunner } from './turn-runner.ts';

export interface FrameTurnsOptions extends FrameControlsOptions {
  readonly runner: TurnRunner;
  /** Bytes that turns hold of their replies. */
  readonly replies: MemoryGuard;
  readonly running: RunningTurns;
  /** Undefined where the store is one node's. */
  readonly nodes?: NodeSessions | undefined;
}

/** A turn that a client may come back for, and its session with its key. */
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
  /** The client of the turn that runs on each connection. */
  readonly #running = new WeakMap<WebsocketConnection, FrameClient>();
  /** The last turn of each connection, for a client that has not seen its end. */
  readonly #last = new WeakMap<WebsocketConnection, ResumableClient>();

  constructor(options: FrameTurnsOptions) {
    this.#options = options;
    this.#resumable = new ResumableTurns(options.clock);
    this.#controls = new FrameControls(options);
    this.#forwarding = options.nodes && new SessionForwarding(options.nodes, this.#resumable, options);
  }

  /** Bytes that are kept for clients that may come back, and bytes of forwarded clients that other nodes have not read yet. */
  get heldBytes(): number {
    return this.#resumable.keptBytes + (this.#forwarding?.heldBytes ?? 0);
  }

  /** How many sessions are leased to this node. */
  get ownedSessions(): number {
    return this.#forwarding?.owners.count ?? 0;
  }

  /** Ends the turns that have no client. From now on a turn also ends when its client leaves: clients cannot resume at a gateway that stops. */
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
   * Whether this node has a turn for a client of another node. If not, the other node takes over its session. @param turnId of its frame
   */
  takes(turn: LiveTurn, turnId: string): boolean {
    const session = this.#sessionOf(turn);
    if (session === undefined) return false;
    if (this.#resumable.concerns(session, boundedId(turnId, this.#digest))) return true;
    this.#forwarding?.owners.giveUp(session);
    return false;
  }

  /** Gives the sessions of this node up: it ends. */
  async stop(): Promise<void> {
    await this.#forwarding?.owners.stop();
  }

  /** Runs the turn of a frame, or continues the turn that it is an exact retry of. Never rejects. */
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
    // Before the wait: a client that comes back during it, over another connection, finds this turn, and does not begin a second one.
    const client = identified ? this.#resumableClient(turn, frame, connection, identified) : new FrameClient(turn, frame, connection);
    const replaced = hasFormer ? await this.#resumable.replace(identified.session) : 0;
    for (let i = 0; i < replaced; i++) counters.add('turns_replaced');
    const current = client.currentConnection;
    // The client left while the turns that it replaced ended.
    if (!current?.isOpen) client.ended(this.#options.runner.recordLeft(turn));
    else await this.#run(turn, client, current);
  }

  /** Takes a frame about the response that runs on the connection. */
  control(frame: TurnFrame, connection: WebsocketConnection): void {
    void this.#controls.take(frame, connection, this.#running.get(connection));
  }

  /** Runs a turn, and then the turns of the further responses that its client steers it to. */
  async #run(turn: LiveTurn, client: FrameClient, connection: WebsocketConnection): Promise<void> {
    const { runner, running, turnOf } = this.#options;
    this.#running.set(connection, client);
    running.begin();
    const ending = await runner.run(turn, client, running.end);
    // The client may have come back over another connection.
    const current = client.currentConnection ?? connection;
    const continued = await this.#controls.continuation(client, current);
    const next = continued && turnOf(current, turn.model?.mode);
    if (next) await this.#run(next, new FrameClient(next, continued.frame, current), current);
    // The next turn takes over the response of the steer. If that turn was refused, the account stops working on the response.
    continued?.following.cancel();
    this.#running.delete(current);
    client.ended(ending);
  }

  /** Answers a frame that gets no turn; it leaves a row. */
  refuse(turn: LiveTurn, refusal: Refusal, connection: WebsocketConnection, frame: Frame = refusal): void {
    try {
      turn.rules.admit();
    } catch {
      // The row of a turn that was not admitted has no key.
    }
    const client = new FrameClient(turn, frame, connection);
    client.ended(this.#options.runner.refuse(turn, client, refusal));
  }

  /** The identity by which a client can come back for the turn; undefined where it cannot. */
  #identified(turn: LiveTurn, frame: Frame): Identified | undefined {
    if (frame instanceof Refusal || !turn.surface.agentProtocol) return undefined;
    const identity = identityOf(frame.json, this.#digest);
    const session = identity && this.#sessionOf(turn);
    return session === undefined || !identity ? undefined : { session, identity };
  }

  /** The session with its key; undefined without a name. */
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
      forget: (forgotten) => this.#resumable.remove(session, forgotten),
    });
    this.#resumable.add(session, client);
    this.#forwarding?.owners.hold(session);
    this.#last.set(connection, client);
    return client;
  }
}
