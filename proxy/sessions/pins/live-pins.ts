// Pins of open websockets, in memory. Until a websocket ends, no other process can continue its last response.
import type { LivePin, Pin } from '../../turn/continuation.ts';

export class LivePins {
  /** Pins by name. */
  readonly #pins = new Map<string, Pin>();
  readonly #ended: (text: string, pin: Pin) => void;

  /** @param ended called with each pin whose websocket has closed */
  constructor(ended: (text: string, pin: Pin) => void) {
    this.#ended = ended;
  }

  get(text: string): Pin | undefined {
    return this.#pins.get(text);
  }

  /** @returns the functions that the websocket calls when it ends, or after another response */
  add(text: string, pin: Pin): LivePin {
    this.#pins.set(text, pin);
    return {
      followed: () => this.#forget(text, pin),
      ended: () => {
        this.#forget(text, pin);
        this.#ended(text, pin);
      },
    };
  }

  /** Removes the pin. If an account gave two responses the same id, the later pin stays. */
  #forget(text: string, pin: Pin): void {
    if (this.#pins.get(text) === pin) this.#pins.delete(text);
  }
}
