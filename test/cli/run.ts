// Runs a command line inside the test's own process.
import type { Io } from '../../proxy/cli/command.ts';
import { run } from '../../proxy/cli/program.ts';

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export async function poolgate(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ran> {
  let out = '';
  let err = '';
  const io: Io = {
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    env,
  };
  const code = await run(args, io);
  return { code, out, err };
}
