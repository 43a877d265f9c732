// The `poolgate` command, started by scripts/poolgate.mjs.
import { run } from './cli/program.ts';
import { every, terminalOf } from './cli/terminal.ts';

// `poolgate routes | head` closes stdout early, which is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

process.exitCode = await run(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  env: process.env,
  terminal: terminalOf(process),
  every,
});
