// The upstream websocket of one turn: whether the turn goes over it, and what follows a failure of the socket (Q6, Q28).
import type { Failure } from '../turn/errors/failure.ts';
import { Refusal } from '../turn/errors/refusal.ts';
import type { AccountConfig } from '../turn/settings.ts';
import type { EffectiveMode } from '../upstream/carriers/websocket/kept-responses.ts';
import type { SocketSlot } from '../upstream/carriers/websocket/socket-slot.ts';
import { CONNECTION_LIMIT } from '../upstream/carriers/websocket/upstream-socket.ts';
import type { WebsocketCarrier } from '../upstream/carriers/websocket/websocket-carrier.ts';
import type { WebsocketSupport } from '../upstream/websocket-support.ts';
import type { Attempted } from './reply/reply-context.ts';
import type { DispatchRequest } from './request/dispatch-request.ts';

/**
 * Undefined for a turn that goes over HTTP, because its kind is sent as frames only if it continues a response.
 * @param slot the upstream websocket of the client's connection
 */
export function turnSocketOf({ turn, payload }: DispatchRequest, slot: SocketSlot, support: WebsocketSupport): TurnSocket | undefined {
  const body = payload.kind === 'json' ? payload.work.body : {};
  const anchor = typeof body.previous_response_id === 'string' ? body.previous_response_id : undefined;
  const anchoredOnly = turn.kind.frames === 'anchored';
  if (anchoredOnly && anchor === undefined) return undefined;
  return new TurnSocket(slot, support, {
    anchor,
    anchorMode: anchoredOnly ? turn.model?.mode?.effective : undefined,
    isPrewarm: body.generate === false,
  });
}

interface SocketTurn {
  readonly anchor: string | undefined;
  /** The mode in which the anchor must have been made; undefined for any mode. */
  readonly anchorMode: EffectiveMode;
  readonly isPrewarm: boolean;
}

export class TurnSocket {
  readonly slot: SocketSlot;
  readonly #support: WebsocketSupport;
  /** The response that the turn continues. It exists only on the live socket. */
  readonly #anchor: string | undefined;
  readonly #anchorMode: EffectiveMode;
  readonly #isPrewarm: boolean;
  #tooLarge = false;
  #resent = false;

  constructor(slot: SocketSlot, support: WebsocketSupport, { anchor, anchorMode, isPrewarm }: SocketTurn) {
    this.slot = slot;
    this.#support = support;
    this.#anchor = anchor;
    this.#anchorMode = anchorMode;
    this.#isPrewarm = isPrewarm;
  }

  /** Whether the turn continues a response. */
  get isAnchored(): boolean {
    return this.#anchor !== undefined;
  }

  /** Whether the response that the turn continues is not on the live socket, so it cannot be continued at all. */
  get anchorIsGone(): boolean {
    return this.#anchor !== undefined && !this.slot.continues(this.#anchor, this.#anchorMode);
  }

  /** Whether only accounts with websockets can serve the turn, because it generates nothing. */
  get skipsAccounts(): boolean {
    return this.#isPrewarm && this.#anchor === undefined;
  }

  /** Whether this account cannot serve the turn, because the turn would go over HTTP. */
  skips(account: AccountConfig): boolean {
    return this.skipsAccounts && !this.#support.has(account);
  }

  /** Whether an attempt at this account is sent as a frame. @throws Refusal if the turn cannot be served over HTTP, or on a new socket */
  carries(account: AccountConfig): boolean {
    if (this.#anchor !== undefined && this.slot.at(account.id) === undefined) throw anchorNotFound();
    if (!this.#tooLarge && (this.#anchor !== undefined || this.#support.has(account))) return true;
    if (this.#isPrewarm) throw prewarmImpossible();
    return false;
  }

  /**
   * Whether a frame for an account goes over the live socket.
   * @param carrier the carrier of the account @param session the header of a new upgrade
   */
  isOpenAt(carrier: Pick<WebsocketCarrier, 'isOpen'>, session: string | undefined): boolean {
    return carrier.isOpen(this.slot) && this.#isIn(session);
  }

  /** Closes a live socket of another session. @param session the header of a new upgrade */
  inSession(session: string | undefined): void {
    if (this.slot.account !== undefined && !this.#isIn(session)) this.slot.close();
  }

  /** Whether a frame of this size can be sent. Otherwise the turn goes over HTTP. @throws Refusal if it continues a response */
  fits(bytes: number, largest: number): boolean {
    if (bytes <= largest) return true;
    this.#refuseSize();
    return false;
  }

  /** Whether the socket or its credential is at fault. Such a failure is never sent to a client (Q3). */
  isAtFault({ cause, error, frameTooLarge }: Failure): boolean {
    return error.code === CONNECTION_LIMIT || frameTooLarge === true || cause === 'credential';
  }

  /** Whether the turn goes to the same account once more, over a new socket or over HTTP. At most once. */
  sendsAgain({ verdict, over, reused, status }: Attempted, account: AccountConfig): boolean {
    if (verdict.kind !== 'failed' || over === 'http' || this.#resent) return false;
    const { failure } = verdict;
    // A live socket keeps the credential of its upgrade, so a renewed one needs a new socket.
    if (failure.cause === 'credential') this.slot.close();
    // A refused upgrade has a status of its own, and an accepted one counts as 200.
    const isAbsent = status !== undefined && status !== 200 && this.#support.refused(account, status);
    if (!isAbsent && failure.cause === 'challenge_page') this.#support.challenged(account);
    else if (!isAbsent && failure.frameTooLarge) this.#refuseSize();
    // A connection may have died while it was idle, which the first turn that uses it finds out.
    else if (!isAbsent && !(failure.error.code === CONNECTION_LIMIT || (reused && status === undefined && failure.cause === 'network'))) {
      return false;
    }
    this.slot.close();
    this.#resent = this.#anchor === undefined && !this.skips(account);
    return this.#resent;
  }

  /** The refusal that replaces a failure of the socket, because the response that the turn continues is gone with it. */
  refusal(last: Failure): Refusal | undefined {
    if (this.#anchor === undefined) return last.error.code === CONNECTION_LIMIT ? new Refusal('upstream_error') : undefined;
    return last.cause === 'network' || this.isAtFault(last) ? anchorNotFound() : undefined;
  }

  /** Whether the live socket has this session, or a response that the turn continues. */
  #isIn(session: string | undefined): boolean {
    return this.#anchor !== undefined || this.slot.session === session;
  }

  #refuseSize(): void {
    if (this.#anchor !== undefined) throw new Refusal('request_too_large');
    this.#tooLarge = true;
  }
}

/** The refusal of a turn without generation if no account can take it. */
export const prewarmImpossible = (): Refusal =>
  new Refusal('websocket_upgrade_required', { message: 'No account of this Pool accepts a turn without generation.' });

export const anchorNotFound = (): Refusal => new Refusal('previous_response_not_found', { param: 'previous_response_id' });
