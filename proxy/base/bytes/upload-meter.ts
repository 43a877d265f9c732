// Measures how many bytes of uploads that stream through are held at once: at most 1 MiB each, however long they are.

export interface HeldUpload {
  readonly heldBytes: number;
}

export class UploadMeter {
  readonly #uploads = new Set<HeldUpload>();
  /** Most bytes that one upload has held. */
  most = 0;

  add(upload: HeldUpload): void {
    this.#uploads.add(upload);
  }

  remove(upload: HeldUpload): void {
    this.#uploads.delete(upload);
  }

  sample(bytes: number): void {
    if (bytes > this.most) this.most = bytes;
  }

  /** The bytes that all uploads hold now. An upload whose account reads nothing is sampled only here. */
  get held(): number {
    let sum = 0;
    for (const { heldBytes } of this.#uploads) {
      this.sample(heldBytes);
      sum += heldBytes;
    }
    return sum;
  }
}
