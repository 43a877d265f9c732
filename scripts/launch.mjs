// Runs a command in this process's stead: it gets our signals, and we end as it ended.
import { spawn } from 'node:child_process';

/** @typedef {{ code: number | null, signal: NodeJS.Signals | null }} End */

/**
 * Runs a command to its end, and hands it every signal that would end or reload us.
 * @param {readonly string[]} command
 * @param {import('node:child_process').SpawnOptions} options
 * @returns {Promise<End>}
 */
export function launch([program = '', ...args], options) {
  return new Promise((resolve, reject) => {
    // On Windows the commands that npm installs, itself among them, are .cmd files, which only a shell runs.
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
    // A terminal's Ctrl-C goes to its whole foreground group: the server has it already, and a second one means "at once".
    if (signal === 'SIGINT' && process.stdin.isTTY) return;
    // One Ctrl-C arrives from the terminal and once more from npm: told once, lest it pass for an impatient second one.
    if (Date.now() - stopped < 250) return;
    stopped = Date.now();
    child.kill(signal);
  };
  const reload = () => child.kill('SIGHUP');
  process.on('SIGINT', stop).on('SIGTERM', stop).on('SIGHUP', reload);

  // npm dies of a SIGHUP or SIGKILL without passing it on, and an old sh between us of any signal: the server must not outlive them.
  const parent = process.ppid;
  const watch = setInterval(() => process.ppid !== parent && stop('SIGTERM'), 500);
  if (!process.env['npm_lifecycle_event']) clearInterval(watch);

  return () => {
    clearInterval(watch);
    process.off('SIGINT', stop).off('SIGTERM', stop).off('SIGHUP', reload);
  };
}
