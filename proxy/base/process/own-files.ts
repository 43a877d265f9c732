// Finds the files of the program for Node. Node's own search checks each import on the disk, which takes a tenth of the start.
import { registerHooks } from 'node:module';

/**
 * Imports of the program's own files name them exactly. Files below node_modules are found by Node's loader, which reads no TypeScript
 * there.
 */
export function findOwnFiles(): void {
  if (import.meta.url.includes('/node_modules/')) return;
  registerHooks({
    resolve: (name, context, next) =>
      name.startsWith('.') && name.endsWith('.ts')
        ? { url: new URL(name, context.parentURL).href, format: 'module-typescript', shortCircuit: true }
        : next(name, context),
  });
}
