// The flags of Node under which the gateway runs.

/** Newer versions may have no such flag, and would not start with it. */
const NEWEST_MEASURED = 24;

/** Node strips the types of the program itself, and says at each start that it does. */
const quiet = ['--disable-warning=ExperimentalWarning'];

/**
 * In a pause V8 collects what it knows of the shapes of requests, and with it the code that it compiled for them: the turns after the
 * pause are slow until it is compiled again. Without these collections both stay, and the heap does not shrink in a pause.
 */
const keepCode = ['--no-memory-reducer'];

/** @param {string} version of Node */
export const nodeFlags = (version) => (Number.parseInt(version, 10) > NEWEST_MEASURED ? quiet : [...quiet, ...keepCode]);
