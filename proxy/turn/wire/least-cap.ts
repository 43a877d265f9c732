// The smallest cap of output tokens that the Responses API takes. Clients of other APIs may ask for less.
const LEAST_CAP = 16;

/** The cap as it is sent. It is raised to the smallest one, but not above the cap of the key's policy. */
export const raisedCap = (cap: number, permitted = LEAST_CAP): number => Math.max(cap, Math.min(LEAST_CAP, permitted));
