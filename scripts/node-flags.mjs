// The flags of Node under which the gateway runs.

/** Newer versions may have no such flag, and would not start with it. */
const NEWEST_MEASURED = 24;

/** Node strips the types of the program itself, and prints a warning about it at each start. */
const quiet = ['--disable-warning=ExperimentalWarning'];

/**
 * While the process is idle, V8's memory reducer discards the hidden classes of requests and the code that was compiled for them. Turns
 * after an idle period are slow until that code is compiled again. Without the reducer the code stays, and the heap does not shrink.
 */
const keepCode = ['--no-memory-reducer'];

/**
 * Every read of a socket is a buffer outside the heap. By default V8 collects the whole heap after each 32 MB or so of them, which costs an
 * upload more than all else; minor collections free them as well. These flags count them together with the heap, which is collected as
 * a whole when both have outgrown a size that an idle gateway does not reach. Megabytes.
 */
const countBuffersAsHeap = ['--external-memory-accounted-in-global-limit', '--initial-old-space-size=64'];

/** Little of a turn survives a minor collection: threads that share one cost more processor time than they save. */
const collectAlone = ['--no-parallel-scavenge'];

const measured = [...quiet, ...keepCode, ...countBuffersAsHeap, ...collectAlone];

/** @param {string} version of Node */
export const nodeFlags = (version) => (Number.parseInt(version, 10) > NEWEST_MEASURED ? quiet : measured);
