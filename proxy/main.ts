// The `poolgate` command, started by scripts/poolgate.mjs.
import { dropExportsOfFetch, findOwnFiles } from './base/process/fast-start.ts';

// Installed before the program is loaded. Without a handler, an early SIGHUP would end a gateway that has not read its file yet.
if (process.argv[2] === 'serve') process.on('SIGHUP', () => undefined);

dropExportsOfFetch();
findOwnFiles();

const [{ run }, { LineInput }, { every, terminalOf }] = await Promise.all([
  import('./cli/program.ts'),
  import('./cli/text/input.ts'),
  import('./cli/text/terminal.ts'),
]);

// `poolgate routes | head` closes stdout early. That is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

const input = new LineInput(process);
process.exitCode = await run(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  env: process.env,
  input,
  terminal: terminalOf(process),
  every,
});
input.close();
