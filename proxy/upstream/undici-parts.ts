// The two parts of undici that turns use. Its entry point loads eighty more modules, which take a tenth of the start. The paths are
// undocumented: if another version moves the parts, the gateway does not start.
import { createRequire } from 'node:module';
import type * as undici from 'undici';

const part = createRequire(import.meta.url);

export type Pool = undici.Pool;
export const Pool = part('undici/lib/dispatcher/pool.js') as typeof undici.Pool;

export const buildConnector = part('undici/lib/core/connect.js') as typeof undici.buildConnector;
