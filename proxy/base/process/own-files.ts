// How Node finds the files of the program. Its own search asks the disk about each import: a tenth of a start.
import { registerHooks } from 'node:module';

/** Imports name these files exactly. Below node_modules, where Node reads no TypeScript, another loader finds them. */
export function findOwnFiles(): void {
  if (import.meta.url.includes('/node_modules/')) return;
  registerHooks({
    resolve: (name, context, next) =>
      name.startsWith('.') && name.endsWith('.ts')
        ? { url: new URL(name, context.parentURL).href, format: 'module-typescript', shortCircuit: true }
        : next(name, context),
  });
}
