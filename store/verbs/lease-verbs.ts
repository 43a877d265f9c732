// Leases: a name has at most one owner at a time among all processes on the database, until it releases the lease or the lease expires.
// They serve the refresh of OAuth credentials and, with several nodes, probes, reads of catalogs and usage, and session owners (Q34).

export interface Lease {
  readonly name: string;
  readonly owner: string;
  /** Greater than that of every earlier lease. Guarded writes compare it, so that an owner that was paused cannot overwrite newer rows. */
  readonly token: number;
  /** Unix milliseconds. */
  readonly expires_at: number;
}

export interface LeaseVerbs {
  /** Takes the lease; undefined while another lease of this name has not expired, even one of the same owner. */
  acquire(name: string, owner: string, ttlMs: number): Promise<Lease | undefined>;
  /** Extends the lease. @returns it with its new expiry time; undefined if it was lost, because it had expired or was released */
  renew(lease: Lease, ttlMs: number): Promise<Lease | undefined>;
  /** Does nothing to a lease that another owner has acquired since. */
  release(lease: Lease): Promise<void>;
}
