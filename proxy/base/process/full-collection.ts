// A collection of all garbage that also returns V8's free pages to the system. The gateway runs without the part of V8 that does so by itself
// (scripts/node-flags.mjs).
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: { readonly type: 'major'; readonly execution: 'sync'; readonly flavor: 'last-resort' }) => void;

/** Stops the process for a tenth of a second or longer, and drops compiled code that was not used lately. */
export function collectAll(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as Collect;
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
