// Runs a command as a child process: forwards signals to it, and ends with its exit code or signal.
import { spawn } from 'node:child_process';

/** @typedef {{ code: number | null, signal: NodeJS.Signals | null }} End */

/**
 * Runs a command to its end, and forwards to it every signal that ends or reloads this process.
 * @param {readonly string[]} command
 * @param {import('node:child_process').SpawnOptions} options
 * @returns {Promise<End>}
 */
export function launch([program = '', ...args], options) {
  return new Promise((resolve, reject) => {
    // On Windows npm and the commands that it installs are .cmd files, which need a shell.
    const shell = process.platform === 'win32' && program !== 'node';
    const child = spawn(program, args, { stdio: 'inherit', shell, ...options });
    const stopForwarding = forwardSignals(child);
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      stopForwarding();
      resolve({ code, signal });
    });
  });
}

/** @param {End} end */
export function endAs({ code, signal }) {
  if (signal) process.kill(process.pid, signal);
  else process.exitCode = code ?? 1;
}

/** @param {import('node:child_process').ChildProcess} child */
function forwardSignals(child) {
  let stopped = 0;
  const stop = (/** @type {NodeJS.Signals} */ signal) => {
    // Ctrl-C in a terminal signals all processes in the foreground, so that the server has received it. A second SIGINT would stop it
    // without a drain.
    if (signal === 'SIGINT' && process.stdin.isTTY) return;
    // One Ctrl-C arrives twice, from the terminal and from npm, and is forwarded once.
    if (Date.now() - stopped < 250) return;
    stopped = Date.now();
    child.kill(signal);
  };
  const reload = () => child.kill('SIGHUP');
  process.on('SIGINT', stop).on('SIGTERM', stop).on('SIGHUP', reload);

  // npm does not forward SIGHUP or SIGKILL, and an old sh forwards no signal. The server is therefore stopped when the parent is gone.
  const parent = process.ppid;
  const watch = setInterval(() => process.ppid !== parent && stop('SIGTERM'), 500);
  if (!process.env['npm_lifecycle_event']) clearInterval(watch);

  return () => {
    clearInterval(watch);
    process.off('SIGINT', stop).off('SIGTERM', stop).off('SIGHUP', reload);
  };
}
