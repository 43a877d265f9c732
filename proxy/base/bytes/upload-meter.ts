// Measures how many bytes are held of uploads that are passed on as streams. Each holds at most 1 MiB, whatever its length.

export interface HeldUpload {
  readonly heldBytes: number;
}

export class UploadMeter {
  readonly #uploads = new Set<HeldUpload>();
  /** The most bytes that one upload has held. */
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

  /** The bytes that all uploads hold now. This is the only time that an upload is measured if its account does not read it. */
  get held(): number {
    let sum = 0;
    for (const { heldBytes } of this.#uploads) {
      this.sample(heldBytes);
      sum += heldBytes;
    }
    return sum;
  }
}
