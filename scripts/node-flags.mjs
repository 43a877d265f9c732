// The flags of Node under which the gateway runs.

/** Newer versions may have no such flag, and would not start with it. */
const NEWEST_MEASURED = 24;

/** Node strips the types of the program itself, and says at each start that it does. */
const quiet = ['--disable-warning=ExperimentalWarning'];

/**
 * While the process is idle, V8's memory reducer discards the hidden classes of requests and the code that was compiled for them. Turns
 * after an idle period are slow until that code is compiled again. Without the reducer the code stays, and the heap does not shrink.
 */
const keepCode = ['--no-memory-reducer'];

/** @param {string} version of Node */
export const nodeFlags = (version) => (Number.parseInt(version, 10) > NEWEST_MEASURED ? quiet : [...quiet, ...keepCode]);
