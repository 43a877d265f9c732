// Turns of native websocket clients, by session, that a client can come back for: running ones, and those that ended while the client was
// gone (Q29).
import { type Clock, withDeadline } from '../base/time/clock.ts';
import type { Body } from '../turn/turn.ts';
import { type InterruptedTurn, itemsIn, type TurnIdentity } from './turn-identity.ts';

export interface Resumable extends InterruptedTurn {
  /** Whether the turn's client has left. */
  readonly isDetached: boolean;
  /** Bytes that are kept while the client is gone. */
  readonly keptBytes: number;
  /** Whether the turn's row is written. */
  readonly isOver: boolean;
  /** Ends the turn, or drops it if it is over. */
  cancel(): void;
  /** Ends the turn if its client has left; otherwise the turn continues, and ends when its client leaves. */
  disown(): void;
  /** Resolves when the turn's row is written. */
  readonly over: Promise<void>;
}

/** The turn of which a frame is an exact retry, and the number of its finished items that the client has. */
export interface FoundTurn<Turn> {
  readonly turn: Turn;
  readonly items: number;
}

/** The longest wait for the end of cancelled turns. */
const HANDOFF_MS = 5_000;

export class ResumableTurns<Turn extends Resumable> {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #bySession = new Map<string, Set<Turn>>();

  constructor(clock: Pick<Clock, 'after'>) {
    this.#clock = clock;
  }

  get keptBytes(): number {
    let bytes = 0;
    for (const turns of this.#bySession.values()) for (const turn of turns) bytes += turn.keptBytes;
    return bytes;
  }

  add(session: string, turn: Turn): void {
    const turns = this.#bySession.get(session) ?? new Set();
    turns.add(turn);
    this.#bySession.set(session, turns);
  }

  remove(session: string, turn: Turn): void {
    const turns = this.#bySession.get(session);
    turns?.delete(turn);
    if (turns?.size === 0) this.#bySession.delete(session);
  }

  has(session: string): boolean {
    return this.#bySession.has(session);
  }

  /** Whether this node has a turn for a client that comes back with this frame: a detached turn, or the client's own. */
  concerns(session: string, turnId: string): boolean {
    for (const turn of this.#bySession.get(session) ?? []) if (turn.isDetached || turn.identity.turnId === turnId) return true;
    return false;
  }

  /** Gives up the session's turns, because another node has the session. */
  disown(session: string): void {
    for (const turn of [...(this.#bySession.get(session) ?? [])]) turn.disown();
  }

  /** The turn of which this frame is an exact retry. */
  find(session: string, identity: TurnIdentity, frame: Body): FoundTurn<Turn> | undefined {
    for (const turn of this.#bySession.get(session) ?? []) {
      const items = itemsIn(identity, frame, turn);
      if (items !== undefined) return { turn, items };
    }
    return undefined;
  }

  /** Ends the turns whose client has left. */
  endDetached(): void {
    for (const turns of [...this.#bySession.values()]) for (const turn of [...turns]) if (turn.isDetached) turn.cancel();
  }

  /** Ends the turns that an edited turn replaces, and waits a short time for their end. Called before the edited turn starts. */
  async replace(session: string): Promise<number> {
    const detached = [...(this.#bySession.get(session) ?? [])].filter(({ isDetached }) => isDetached);
    const replaced = detached.filter(({ isOver }) => !isOver);
    for (const turn of detached) turn.cancel();
    if (replaced.length === 0) return 0;
    await withDeadline(Promise.all(replaced.map(({ over }) => over)), this.#clock, HANDOFF_MS);
    return replaced.length;
  }
}
