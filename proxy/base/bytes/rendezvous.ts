// Rendezvous hashing: each key ranks its targets in its own order, so the loss of a target moves only the keys of that target.

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
/** Clients choose the length of keys, so only both ends of longer keys are hashed. */
const LONGEST = 256;

/** A 32-bit hash of a text. */
export function hashOf(text: string): number {
  if (text.length <= LONGEST) return avalanche(fnv(FNV_OFFSET, text));
  const half = LONGEST / 2;
  return avalanche(fnv(fnv(FNV_OFFSET ^ text.length, text.slice(0, half)), text.slice(-half)));
}

/** The rank of a target for a key: an evenly distributed number of 32 bits, of which the highest wins. */
export function rankOf(key: number, target: number): number {
  const hash = Math.imul(key ^ target, 0x9e3779b1);
  return Math.imul(hash ^ (hash >>> 15), 0x85ebca6b) >>> 0;
}

/** The rank of a target with a weight; its share of first ranks is proportional to the weight. */
export const weightedRank = (rank: number, weight: number): number => Math.log((rank + 1) / 0x1_0000_0001) / weight;

function fnv(start: number, text: string): number {
  let hash = start;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), FNV_PRIME);
  return hash;
}

/** Makes every bit of the result depend on every bit of the value. */
function avalanche(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
