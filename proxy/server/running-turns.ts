// The number of turns that run, over HTTP and websockets: a gateway that stops waits for them.

export class RunningTurns {
  /** A map of them, changed twice a turn, would cost a tenth of the turn in garbage. */
  #count = 0;
  /** Called when the last turn ends. */
  #idle: (() => void) | undefined;

  begin(): void {
    this.#count += 1;
  }

  readonly end = (): void => {
    this.#count -= 1;
    if (this.#count === 0) this.#idle?.();
  };

  /** Resolves when no turn runs. */
  async idle(): Promise<void> {
    if (this.#count === 0) return;
    await new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
  }
}
