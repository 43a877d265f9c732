// One client websocket from its upgrade to its end: the node that runs its turns, its running turn, and its last turn (Q28, Q29, Q34).
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { Batches } from '../base/process/batch.ts';
import { CLOSE } from '../clients/websocket/close-codes.ts';
import type { Frame, TurnFrame } from '../clients/websocket/frame.ts';
import { FrameClient } from '../clients/websocket/frame-client.ts';
import type { ResumableClient } from '../clients/websocket/resumable-client.ts';
import { type BrokenLimit, WebsocketConnection } from '../clients/websocket/websocket-connection.ts';
import type { ForwardedMessage } from '../nodes/forwarded-frame.ts';
import { Forwarding } from '../nodes/forwarding.ts';
import { gatewayStops, Refusal } from '../turn/errors/refusal.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import type { ModeDecision } from '../turn/turn.ts';
import { type ClientUpgrade, UNUSABLE_KEY } from './client-upgrade.ts';
import { forwardedMessage, readForwarded } from './forwarded-session.ts';
import type { FrameControls, FrameControlsOptions } from './frame-controls.ts';
import type { Generation } from './generation.ts';
import type { IdentifiedTurn, NativeSessions } from './native-sessions.ts';
import type { TurnRunner } from './turn-runner.ts';

export interface SessionServices extends FrameControlsOptions {
  /** The current generation, with which turns begin. */
  readonly current: { readonly generation: Generation };
  readonly runner: TurnRunner;
  readonly batches: Batches;
  readonly controls: FrameControls;
  readonly natives: NativeSessions;
  /** The session of an open connection. */
  readonly sessionAt: (connection: WebsocketConnection) => WebsocketSession | undefined;
}

export interface AcceptedWebsocket {
  readonly ws: WebSocket;
  readonly socket: Socket;
  readonly upgrade: ClientUpgrade;
  /** Whether another node forwards the client to this one. */
  readonly isFromNode: boolean;
}

/**
 * The node that runs the turns. It is `undecided` until the first frame with which a client may come back for a turn. The turns then run
 * `here`, or at the node to which all frames are forwarded, until the connection ends.
 */
type Place = 'undecided' | 'here' | Forwarding;

/** The reason of the close frame that a client gets from a gateway that stops. */
export const GATEWAY_STOPS = 'the gateway stops';

export class WebsocketSession {
  readonly connection: WebsocketConnection;
  readonly #services: SessionServices;
  readonly #upgrade: ClientUpgrade;
  #place: Place;
  /** The client of the turn that runs here. */
  #client: FrameClient | undefined;
  /** The last turn, if the client may come back for it. */
  #last: ResumableClient | undefined;

  constructor(services: SessionServices, { ws, socket, upgrade, isFromNode }: AcceptedWebsocket) {
    const { batches, clock, counters, guard, natives } = services;
    const { identity, limits, timeouts } = upgrade.turn;
    this.#services = services;
    this.#upgrade = upgrade;
    this.#place = isFromNode || !natives.owners ? 'here' : 'undecided';
    this.connection = new WebsocketConnection({
      ws,
      socket,
      idleMs: timeouts.websocket_idle_timeout_ms,
      messageMs: timeouts.client_body_ms,
      limits,
      clock,
      counters,
      share: guard.of(identity?.key.id),
      batches,
      read: isFromNode ? (data) => readForwarded(data, this.connection) : undefined,
      serve: (frame) => this.#serve(frame),
      control: (frame) => this.#control(frame),
      refuse: (refusal, frame) => this.#refuse(refusal, frame),
      limitBroken: (limit) => this.#limitBroken(limit),
    });
  }

  /** The bytes that the client, and the node to which it is forwarded, have not read yet. */
  get heldBytes(): number {
    return this.connection.heldBytes + (this.#forwarding?.heldBytes ?? 0);
  }

  /** Whether the turns run at another node. */
  get isForwarded(): boolean {
    return this.#forwarding !== undefined;
  }

  /** The client of the turn that runs here. */
  get client(): FrameClient | undefined {
    return this.#client;
  }

  /** A further turn. Undefined if its endpoint is no longer served. @param mode the mode that was captured for it */
  turnIn(mode?: ModeDecision): LiveTurn | undefined {
    return this.#upgrade.turnIn(this.#services.current.generation, mode);
  }

  /** Ends the session after its running turn if its key or endpoint may no longer be used. */
  configure(): void {
    const reason = this.#upgrade.unusableIn(this.#services.current.generation);
    if (reason === undefined) this.connection.keepOpen();
    else this.endAfterTurn(CLOSE.policy, reason);
  }

  /** Ends the session after its running turn, here or at the other node. */
  endAfterTurn(code: number, reason: string): void {
    if (this.#forwarding) this.#forwarding.send({ kind: 'end', code, reason });
    else this.connection.closeAfterTurn(code, reason);
  }

  /**
   * Stops the running turn, because the time of a drain has passed. A turn at another node goes on there without its client, which may come
   * back for it over any node that does not stop (Q29).
   */
  stopTurn(): void {
    if (this.#forwarding) this.connection.close(CLOSE.goingAway, GATEWAY_STOPS);
    else this.#client?.stop();
  }

  /** Drops a turn for which the client can no longer come back. */
  forget(turn: ResumableClient): void {
    if (this.#last === turn) this.#last = undefined;
  }

  get #forwarding(): Forwarding | undefined {
    return typeof this.#place === 'object' ? this.#place : undefined;
  }

  /** Runs the turn of a frame, or lets another node run it. Never rejects. */
  async #serve(frame: Frame): Promise<void> {
    const { counters, natives } = this.#services;
    const turn = this.turnIn(frame instanceof Refusal ? undefined : frame.mode);
    if (!turn || natives.isDraining) {
      counters.add('drain_refused');
      this.#refuse(turn ? gatewayStops() : new Refusal('unknown_endpoint'), frame);
      return;
    }
    if (this.#forwarding) this.#forwarding.send(forwardedMessage(turn, frame));
    else await this.#serveHere(turn, frame);
    const { identity } = turn;
    const expires = identity?.key.expires_at;
    // A turn for which its client reconnected was authenticated before it was looked up.
    if (!identity || (expires !== undefined && turn.wallTime() >= expires)) this.endAfterTurn(CLOSE.policy, UNUSABLE_KEY);
  }

  #serveHere(turn: LiveTurn, frame: Frame): Promise<void> {
    this.#last?.acknowledged();
    this.#last = undefined;
    const identified = this.#services.natives.identify(turn, frame);
    if (identified) return this.#serveIdentified(turn, identified);
    return this.#run(turn, new FrameClient(turn, frame, this.connection));
  }

  /** Runs the turn of a frame for which its client may come back, or continues the turn of which the frame is an exact retry. */
  async #serveIdentified(turn: LiveTurn, identified: IdentifiedTurn): Promise<void> {
    const { counters, natives, runner, sessionAt } = this.#services;
    const { session, identity } = identified;
    if (this.#place === 'undecided') {
      this.#place = 'here';
      const owner = await natives.ownerOf(identified, turn);
      if (owner) {
        await this.#forward(new Forwarding(this.connection, owner), forwardedMessage(turn, identified.frame));
        return;
      }
      if (!this.connection.isOpen) {
        runner.recordLeft(turn);
        return;
      }
    }
    const found = natives.turns.find(session, identity, identified.frame.json);
    if (found) {
      this.#last = found.turn;
      this.#client = found.turn;
      runner.recordRetry(turn, await found.turn.attach(this.connection, found.items));
      return;
    }
    const hasFormer = natives.turns.has(session);
    // Registered before the wait, so that a client that reconnects during it finds this turn and does not begin a second one.
    const client = natives.begin(turn, identified, this.connection);
    this.#last = client;
    const replaced = hasFormer ? await natives.turns.replace(session) : 0;
    for (let i = 0; i < replaced; i++) counters.add('turns_replaced');
    const { currentConnection: current } = client;
    // The client may have left before the turns that it replaced had ended, or reconnected over another connection.
    const runsAt = current?.isOpen ? sessionAt(current) : undefined;
    if (runsAt) await runsAt.#run(turn, client);
    else client.ended(runner.recordLeft(turn));
  }

  /** Forwards all frames from now on. Resolves when the connection has ended. @param first the message of the frame that decided it */
  async #forward(forwarding: Forwarding, first: ForwardedMessage): Promise<void> {
    const { counters, runner } = this.#services;
    counters.add('websockets_forwarded');
    // Counted, because a gateway that stops waits for the turns of its clients at any node.
    runner.running.begin();
    this.#place = forwarding;
    forwarding.send(first);
    this.connection.forward();
    await forwarding.over;
    runner.running.end();
  }

  /** Runs a turn, and then the turns of further responses that the client steers to. */
  async #run(turn: LiveTurn, client: FrameClient): Promise<void> {
    const { controls, runner, sessionAt } = this.#services;
    this.#client = client;
    runner.running.begin();
    const ending = await runner.run(turn, client);
    // The client may have reconnected over another connection.
    const current = client.currentConnection ?? this.connection;
    const session = sessionAt(current) ?? this;
    const continued = await controls.continuation(client, current);
    const next = continued && session.turnIn(turn.model?.mode);
    if (next) await session.#run(next, new FrameClient(next, continued.frame, current));
    // The next turn takes the response of the steer. If that turn was refused, the account has to stop the response.
    continued?.following.cancel();
    session.#client = undefined;
    client.ended(ending);
  }

  /** Handles a frame about the running response, which may be here or at another node. */
  #control(frame: TurnFrame): void {
    const { controls } = this.#services;
    if (this.#forwarding) this.#forwarding.send(forwardedMessage(this.#anyTurn(), frame));
    else void controls.take(frame, this);
  }

  /** Answers a frame that does not become a turn, and writes its row. */
  #refuse(refusal: Refusal, frame: Frame = refusal): void {
    const { runner } = this.#services;
    const turn = this.#anyTurn();
    if (this.#forwarding) {
      this.#forwarding.send(forwardedMessage(turn, refusal));
      return;
    }
    try {
      turn.rules.admit();
    } catch {
      // The turn was not admitted, so its row has no key.
    }
    const client = new FrameClient(turn, frame, this.connection);
    client.ended(runner.refuse(turn, client, refusal));
  }

  /** Writes a row for a connection that was ended by one of its limits (RM4). */
  #limitBroken(limit: BrokenLimit): void {
    const { turn } = this.#upgrade;
    turn.note('reason_class', limit === 'idle' ? 'timeout' : 'max_frame_size_exceeded');
    this.#services.runner.recordRefused(turn, new Refusal(limit === 'idle' ? 'request_timeout' : 'request_too_large'));
  }

  /** A turn for a frame that has none of its own, also if the endpoint is no longer served. */
  #anyTurn(): LiveTurn {
    return this.turnIn() ?? this.#upgrade.turn;
  }
}
