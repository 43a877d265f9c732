// THE LIST of cases that have found a fault. The short run includes each of them, in addition to the cases that its seed chooses.
import type { FixedCase } from './torture.ts';

export const FIXED_CASES: readonly FixedCase[] = [
  // The gateway sent the client's type of a file unchecked. The request failed, and the failure counted for the account.
  { attack: 'client-bodies', case: 'public file:corrupt:104:0' },
  // A body that had arrived was refused as stalled while its decoder waited for a thread.
  { attack: 'client-bodies', case: 'chat:deflate of 8 MiB of zeros' },
  // Chunks of one byte that were read from a refused body stayed in memory as objects for a second.
  { attack: 'memory', case: 'pieces of mcp' },
];
