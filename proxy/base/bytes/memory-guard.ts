// Limits the bytes of one kind that the process holds at the same time, over all clients (Q4).

export class MemoryGuard {
  held = 0;

  /** @returns whether there is room for `bytes` more bytes */
  take(bytes: number, limit: number): boolean {
    if (this.held + bytes > limit) return false;
    this.held += bytes;
    return true;
  }

  give(bytes: number): void {
    this.held -= bytes;
  }
}
