// Rendezvous hashing: each key ranks all accounts in an order of its own, so that an account that goes moves its own keys only.

const FNV_START = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
/** Of longer keys the beginning and the end count: clients choose their length. */
const LONGEST = 256;

/** 32 bits of a text. */
export function hashOf(text: string): number {
  if (text.length <= LONGEST) return mixed(fnv(FNV_START, text));
  const half = LONGEST / 2;
  return mixed(fnv(fnv(FNV_START ^ text.length, text.slice(0, half)), text.slice(-half)));
}

/** How a key ranks a place: 32 bits, evenly spread; the highest comes first. */
export function rankOf(key: number, place: number): number {
  const hash = Math.imul(key ^ place, 0x9e3779b1);
  return Math.imul(hash ^ (hash >>> 15), 0x85ebca6b) >>> 0;
}

/** The same where places have weights: the share of keys that a place comes first for grows with its weight. */
export const weightedRank = (rank: number, weight: number): number => Math.log((rank + 1) / 0x1_0000_0001) / weight;

function fnv(start: number, text: string): number {
  let hash = start;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), FNV_PRIME);
  return hash;
}

/** Every bit of the result hangs on every bit of the input. */
function mixed(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
