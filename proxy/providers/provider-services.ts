// The services of the gateway that the APIs of accounts need.

/** Makes digests for one purpose. They cannot be inverted without the key of the store, which all nodes share. */
export interface ProviderDigest {
  of(value: string): string;
}

export interface ProviderServices {
  readonly clock: { now(): number };
  readonly key: { digest(purpose: string): ProviderDigest };
}
