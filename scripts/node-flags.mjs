// The flags of Node under which the gateway runs.

/** Newer versions may have no such flags, and would not start with them. */
const NEWEST_MEASURED = 24;

/** Node strips the types of the program itself, and says at each start that it does. */
const quiet = ['--disable-warning=ExperimentalWarning'];

/**
 * While no request is alive V8 collects what it knows of their shapes, and with it the code that it compiled for them: the turns after a
 * pause are slow until it is compiled again. These flags keep it, for the price of a heap that does not shrink in a pause.
 */
const keepCode = ['--no-memory-reducer', '--retain-maps-for-n-gc=1000'];

/** @param {string} version of Node */
export const nodeFlags = (version) => (Number.parseInt(version, 10) > NEWEST_MEASURED ? quiet : [...quiet, ...keepCode]);
