// Pins of open websockets, in memory: the last response of each can be continued by no other process before the websocket ends.
import type { LivePin, Pin } from '../turn/continuation.ts';

export class LivePins {
  /** By name. */
  readonly #pins = new Map<string, Pin>();
  readonly #ended: (text: string, pin: Pin) => void;

  /** @param ended called with each pin when its websocket has closed */
  constructor(ended: (text: string, pin: Pin) => void) {
    this.#ended = ended;
  }

  get(text: string): Pin | undefined {
    return this.#pins.get(text);
  }

  /** @returns the functions that the websocket calls at its end, or after another response */
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

  /** An account may give two responses the same id: then the later pin stays. */
  #forget(text: string, pin: Pin): void {
    if (this.#pins.get(text) === pin) this.#pins.delete(text);
  }
}
