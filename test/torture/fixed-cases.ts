// THE LIST of cases that have found something: the short run has each of them, in addition to those that its seed chooses.
import type { FixedCase } from './torture.ts';

export const FIXED_CASES: readonly FixedCase[] = [
  // The gateway sent a file's type as it came: the request failed, and the failure counted for its account.
  { attack: 'client-bodies', case: 'public file:corrupt:104:0' },
  // A body that had arrived was refused as stalled while its decoder waited for a thread.
  { attack: 'client-bodies', case: 'chat:deflate of 8 MiB of zeros' },
  // What was read of a refused body in chunks of one byte stayed in memory for a second, as an object each.
  { attack: 'memory', case: 'pieces of mcp' },
];
