#!/usr/bin/env node
// The `poolgate` command: runs proxy/main.ts with a Node that is new enough, whichever Node runs this file.
import { fileURLToPath } from 'node:url';
import { endAs, launch } from './launch.mjs';
import { allocatorVariables, nodeFlags } from './node-flags.mjs';
import { asCommand, compileCache, setUp } from './setup.mjs';

/** Node strips types itself, with which a start is a quarter faster than with tsx. It does not do so below node_modules. */
const loaderOf = (/** @type {string} */ main) => (/[\\/]node_modules[\\/]/.test(main) ? ['--import', import.meta.resolve('tsx/esm')] : []);

await asCommand(async () => {
  const { node, env } = await setUp();
  const main = fileURLToPath(new URL('../proxy/main.ts', import.meta.url));
  const command = ['node', ...nodeFlags(node.version), ...loaderOf(main), main, ...process.argv.slice(2)];
  endAs(await launch(command, { env: { NODE_COMPILE_CACHE: compileCache, ...allocatorVariables, ...env } }));
});
