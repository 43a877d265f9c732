// Leases: at most one owner of a name at a time, over all processes on the database, until it releases the lease or the lease expires.
// Used by the refresh of OAuth credentials; with several nodes also by probes, reads of catalogs and usage, and session owners (Q34).

export interface Lease {
  readonly name: string;
  readonly owner: string;
  /** Greater than that of every earlier lease: what a guarded write compares, so that an owner that was paused cannot overwrite. */
  readonly token: number;
  /** Unix milliseconds. */
  readonly expires_at: number;
}

export interface LeaseVerbs {
  /** Undefined while another lease of this name has not expired, also one of the same owner. */
  acquire(name: string, owner: string, ttlMs: number): Promise<Lease | undefined>;
  /** The lease with its new expiry time; undefined if it was lost: it had expired, or was released. */
  renew(lease: Lease, ttlMs: number): Promise<Lease | undefined>;
  /** Does nothing to a lease that another owner has acquired since. */
  release(lease: Lease): Promise<void>;
}
