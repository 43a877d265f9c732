// Writes the reply of one exchange to the gateway, with a fault at one byte.
import type { Socket } from 'node:net';
import type { Exchange } from './exchanges.ts';

/**
 * The fault at a byte of a reply, counted from its status line. `cut`, `reset` and `stall` end the reply there with a FIN, an RST or
 * silence. `corrupt` changes the byte, `drop` leaves it out, and `surplus` adds one before it. `part` sends the rest later.
 */
export const WIRE_FAULTS = ['cut', 'reset', 'stall', 'corrupt', 'drop', 'surplus', 'part'] as const;

export interface WireFault {
  readonly kind: (typeof WIRE_FAULTS)[number];
  readonly at: number;
  /** The byte that `corrupt` and `surplus` write. */
  readonly byte: number;
}

const LATER_MS = 4;

export class FaultyWriter {
  readonly #socket: Socket;
  readonly #exchange: Exchange;
  readonly #fault: WireFault | undefined;
  #late: Buffer[] | undefined;
  /** Whether nothing more is written. */
  stopped = false;

  constructor(socket: Socket, exchange: Exchange, fault: WireFault | undefined) {
    this.#socket = socket;
    this.#exchange = exchange;
    this.#fault = fault;
  }

  /** @returns whether more can be written now */
  write(bytes: Buffer): boolean {
    if (this.stopped) return true;
    if (this.#late) {
      this.#late.push(bytes);
      return true;
    }
    const fault = this.#fault;
    const { passed } = this.#exchange;
    if (!fault || fault.at < passed || fault.at >= passed + bytes.length) return this.#pass(bytes);
    this.#exchange.broken = fault;
    return this.#break(fault, bytes.subarray(0, fault.at - passed), bytes.subarray(fault.at - passed));
  }

  #break({ kind, byte }: WireFault, before: Buffer, after: Buffer): boolean {
    switch (kind) {
      case 'corrupt':
        return this.#pass(Buffer.concat([before, Buffer.of(byte), after.subarray(1)]));
      case 'drop':
        return this.#pass(Buffer.concat([before, after.subarray(1)]));
      case 'surplus':
        return this.#pass(Buffer.concat([before, Buffer.of(byte), after]));
      case 'part':
        this.#late = [after];
        setTimeout(() => this.#passLate(), LATER_MS);
        return this.#pass(before);
      default:
        this.#stop(kind, before);
        return true;
    }
  }

  #stop(kind: 'cut' | 'reset' | 'stall', before: Buffer): void {
    this.#pass(before);
    this.stopped = true;
    if (kind === 'cut') this.#socket.end();
    // A reset discards what the peer has not read yet, so that earlier bytes must have arrived.
    else if (kind === 'reset') setTimeout(() => this.#socket.resetAndDestroy(), LATER_MS);
  }

  #passLate(): void {
    const late = this.#late ?? [];
    this.#late = undefined;
    for (const bytes of late) this.#pass(bytes);
  }

  #pass(bytes: Buffer): boolean {
    this.#exchange.add(bytes);
    return bytes.length === 0 || this.#socket.destroyed || this.#socket.write(bytes);
  }
}
