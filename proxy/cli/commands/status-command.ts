// `status` and `top`: print the state of the running gateway, once or continuously.
import type { Command } from 'commander';
import { addCommand, CommandFailure, type CommonOptions, type Io, json } from '../command.ts';
import { adminIn } from '../gateway/address.ts';
import { fetchStatus } from '../gateway/calls.ts';
import { statusLines } from '../text/status-text.ts';
import { cell } from '../text/text-cells.ts';

const REFRESH_MS = 2_000;

export function addStatus(program: Command, io: Io): void {
  addCommand(program, {
    usage: 'status',
    description: 'show accounts, quota, Pools and counters of the running gateway; with --json the whole reply, also its configuration',
    examples: ['poolgate status', "poolgate status --json | jq '.accounts'"],
  }).action(async ({ config: path, json: asJson }: CommonOptions) => {
    const reply = await fetchStatus(await adminIn(path, io));
    return io.out(asJson ? json(reply) : textOf(statusLines(reply)));
  });
}

export function addTop(program: Command, io: Io): void {
  addCommand(program, {
    usage: 'top',
    description: 'show the status, refreshed every 2 seconds until q or Ctrl-C; printed once if the output is not a terminal',
    examples: ['poolgate top'],
    json: false,
  }).action(async ({ config: path }: CommonOptions) => {
    const admin = await adminIn(path, io);
    const draw = async (): Promise<readonly string[]> => statusLines(await fetchStatus(admin));
    const { terminal } = io;
    // The first failure ends the command. A gateway that stops later may come back.
    const first = await draw();
    if (!terminal) return io.out(textOf(first));
    const left = new AbortController();
    const forget = terminal.onKey((key) => {
      if (key === 'q' || key === CTRL_C) left.abort();
    });
    try {
      io.out(screen(first, terminal.size));
      for await (const _ of io.every(REFRESH_MS, left.signal)) {
        const lines = await draw().catch(failureLines);
        if (left.signal.aborted) break;
        io.out(screen(lines, terminal.size));
      }
    } finally {
      forget();
    }
  });
}

const CTRL_C = '\x03';
const HOME = '\x1b[H';
const CLEAR_LINE = '\x1b[K';
const CLEAR_BELOW = '\x1b[J';

/** A screen that is drawn over the last one without flicker. The last row stays free for the cursor. */
function screen(lines: readonly string[], { columns, rows }: { readonly columns: number; readonly rows: number }): string {
  const shown = lines.slice(0, Math.max(1, rows - 1)).map((line) => `${cell(line, columns)}${CLEAR_LINE}`);
  return `${HOME}${shown.join('\r\n')}\r\n${CLEAR_BELOW}`;
}

function failureLines(thrown: unknown): readonly string[] {
  if (thrown instanceof CommandFailure) return [thrown.message];
  throw thrown;
}

const textOf = (lines: readonly string[]): string => `${lines.join('\n')}\n`;
