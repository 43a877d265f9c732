// The flags of Node and the variables of the C library under which the gateway runs.

/** The newest version with which the flags were measured. A newer one may lack a flag, and would not start with it. */
const NEWEST_MEASURED = 24;

/** Disables the warning that Node prints at each start because it strips types. */
const quiet = ['--disable-warning=ExperimentalWarning'];

/**
 * Disables V8's memory reducer. It discards hidden classes and compiled code while the process is idle, and turns after that are slow until
 * the code is compiled again. Without it the code stays, and the heap does not shrink.
 */
const keepCode = ['--no-memory-reducer'];

/**
 * Counts the buffers of socket reads, which are outside the heap, as part of the heap. By default V8 collects the whole heap after each 32
 * MB or so of them, which is most of the cost of an upload, although minor collections free them as well. With these flags the whole heap
 * is collected when both together exceed a size, in megabytes, that an idle gateway does not reach.
 */
const countBuffersAsHeap = ['--external-memory-accounted-in-global-limit', '--initial-old-space-size=64'];

/**
 * Uses one thread for minor collections. Little of a turn survives them, so that several threads cost more processor time than they save.
 */
const collectAlone = ['--no-parallel-scavenge'];

const measured = [...quiet, ...keepCode, ...countBuffersAsHeap, ...collectAlone];

/** @param {string} version the version of Node */
export const nodeFlags = (version) => (Number.parseInt(version, 10) > NEWEST_MEASURED ? quiet : measured);

/**
 * Sizes, in bytes, of glibc's memory. A block of the first size or more is taken from the system, and given back when it is freed. The
 * other one is how much free memory at the end of its own it keeps. By default the first one grows with the largest freed block, up to 32
 * MiB, and the memory of an overload stays with the process.
 */
export const allocatorVariables = { MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_TRIM_THRESHOLD_: '67108864' };
