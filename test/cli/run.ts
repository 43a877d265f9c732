// Runs a command line inside the process of the test.
import type { Io } from '../../proxy/cli/command.ts';
import { run } from '../../proxy/cli/program.ts';

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** The functions of a terminal. */
export type Watched = Pick<Io, 'terminal' | 'every'> & { readonly input: Io['input']; readonly onErr: (text: string) => void };

/** The input of a person who gives these answers, one to each question; without answers it is not a terminal. */
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

/** Ends after one round, so no command polls forever. */
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
