// The upstream websocket of one client connection. Its turns reuse it while they stay at its account (Q28).
import type { LivePin } from '../../../turn/continuation.ts';
import type { EffectiveMode, KeptResponse } from './kept-responses.ts';
import type { UpstreamSocket } from './upstream-socket.ts';

/** Each connection to an account is independent: a response can be continued only on the connection on which it came. */
export class SocketSlot {
  #socket: UpstreamSocket | undefined;
  #account: string | undefined;
  #isOver = false;
  #onOver: (() => void) | undefined;

  /** The account of the live socket; undefined if none is open. */
  get account(): string | undefined {
    return this.#socket?.isOpen ? this.#account : undefined;
  }

  /** The credential of the live socket's upgrade. */
  get authorization(): string | undefined {
    return this.#socket?.authorization;
  }

  /** The session id of the live socket's upgrade. */
  get session(): string | undefined {
    return this.#socket?.session;
  }

  /** The live socket at this account. */
  at(account: string): UpstreamSocket | undefined {
    return this.account === account ? this.#socket : undefined;
  }

  /** Whether a turn can continue this response, because it came over the live socket. @param mode undefined for a response of any mode */
  continues(responseId: string, mode?: EffectiveMode): boolean {
    const response = this.#socket?.isOpen ? this.#socket.response(responseId) : undefined;
    return response !== undefined && (mode === undefined || response.mode === mode);
  }

  keepResponse(response: KeptResponse & { readonly pin?: LivePin | undefined }): void {
    if (this.#socket) this.#socket.keepResponse(response);
    else response.pin?.ended();
  }

  /** The instructions that the account does not keep with this response. */
  liftedOf(responseId: string): string | undefined {
    return this.#socket?.isOpen ? this.#socket.response(responseId)?.lifted : undefined;
  }

  /** Sets a new socket and closes the previous one. */
  replace(account: string, socket: UpstreamSocket): void {
    this.close();
    this.#account = account;
    this.#socket = socket;
  }

  /** Calls back once when the client's connection is gone; at once if it is gone already. */
  onOver(over: () => void): void {
    if (this.#isOver) over();
    else this.#onOver = over;
  }

  /** Ends the socket, because the client's connection is closed and no turn continues without it. */
  end(): void {
    this.close();
    this.#isOver = true;
    this.#onOver?.();
    this.#onOver = undefined;
  }

  close(): void {
    this.#socket?.close();
    this.#socket = undefined;
  }
}
