// The number of running turns, over HTTP and websockets. A gateway that stops waits for them.

export class RunningTurns {
  /** A number, because a map that changes twice per turn would cost a tenth of the turn in garbage. */
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
