// Runs a command line inside the test's own process.
import type { Io } from '../../proxy/cli/command.ts';
import { run } from '../../proxy/cli/program.ts';

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** The functions of a terminal. */
export type Watched = Pick<Io, 'terminal' | 'every'> & { readonly input: Io['input']; readonly onErr: (text: string) => void };

/** A person who gives these answers, one to each question; without answers there is no terminal. */
export function answering(...answers: readonly string[]): Io['input'] & { readonly asked: readonly string[] } {
  const asked: string[] = [];
  const left = [...answers];
  return {
    isTerminal: answers.length > 0,
    asked,
    line: async (question) => {
      asked.push(question);
      return left.shift();
    },
  };
}

/** Resolves at once and ends after one round, so that no command polls for ever. */
const NEVER: Watched['every'] = async function* () {};

export async function poolgate(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  { every = NEVER, terminal, input = answering(), onErr }: Partial<Watched> = {},
): Promise<Ran> {
  let out = '';
  let err = '';
  const io: Io = {
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
      onErr?.(text);
    },
    env,
    every,
    input,
    terminal,
  };
  const code = await run(args, io);
  return { code, out, err };
}
