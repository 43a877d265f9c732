// The two parts of undici that turns use. Its entry point loads eighty modules more, which are a tenth of a start; it documents no other
// way, so that another version may have them elsewhere, and the gateway would not start.
import { createRequire } from 'node:module';
import type * as undici from 'undici';

const part = createRequire(import.meta.url);

export type Pool = undici.Pool;
export const Pool = part('undici/lib/dispatcher/pool.js') as typeof undici.Pool;

export const buildConnector = part('undici/lib/core/connect.js') as typeof undici.buildConnector;
